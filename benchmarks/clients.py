"""
Clients of `allennlp bidaf serve`, in a process of their own: `python -m benchmarks.clients ADDRESS
QUESTIONS`. Each asks one question after the other, over one connection. Prints as JSON how long the
answers took. They speak plain HTTP, without a library, to take little of the cores that they share with
the server.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from itertools import cycle
from typing import Any, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlsplit

Connection = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Clients:
    """
    # Parameters

    address : `str`
        Of the server.
    bodies : `List[bytes]`
        What to ask, over and over.
    seconds : `float`
        How long. A client also ends when it is told that the server is stopping.
    """

    def __init__(self, address: str, bodies: List[bytes], seconds: float) -> None:
        self._host, self._port = urlsplit(address).hostname, urlsplit(address).port
        self._bodies: Iterator[bytes] = cycle(bodies)
        self._seconds = seconds
        self._latencies: List[float] = []
        self._statuses: Counter[int] = Counter()
        self._num_lost = 0

    async def run(self, number: int) -> Dict[str, Any]:
        """So many clients at the same time; what they have met."""
        start = time.perf_counter()
        await asyncio.gather(*(self._ask_all(start + self._seconds) for _ in range(number)))
        return {
            "seconds": time.perf_counter() - start,
            "latencies": self._latencies,
            "statuses": dict(self._statuses),
            "lost": self._num_lost,
        }

    async def _ask_all(self, end: float) -> None:
        connection: Optional[Connection] = None
        status = 200
        while time.perf_counter() < end and status != 503:
            try:
                connection = connection or await asyncio.open_connection(self._host, self._port)
            except OSError:
                # Nobody is there any more, so nothing was taken in.
                return
            start = time.perf_counter()
            try:
                status, is_kept = await self._ask(connection)
            except (OSError, EOFError):
                self._num_lost += 1
                return
            self._statuses[status] += 1
            if status == 200:
                self._latencies.append(time.perf_counter() - start)
            if not is_kept:
                connection[1].close()
                connection = None
        if connection is not None:
            connection[1].close()

    async def _ask(self, connection: Connection) -> Tuple[int, bool]:
        """The status of the response, and whether the connection can be used again."""
        reader, writer = connection
        body = next(self._bodies)
        writer.write(
            b"POST /api/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines if line)
        await reader.readexactly(int(headers[b"content-length"]))
        return int(first.split()[1]), headers.get(b"connection") != b"close"


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clients", description=__doc__)
    parser.add_argument("address", help="of the server")
    parser.add_argument("questions", help="JSON lines")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args(arguments)
    with open(options.questions, "rb") as file:
        bodies = file.read().splitlines()
    clients = Clients(options.address, bodies, options.seconds)
    json.dump(asyncio.run(clients.run(options.clients)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
