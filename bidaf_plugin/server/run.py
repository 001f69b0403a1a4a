import asyncio
import json
import logging
import socket
import time
from http import HTTPStatus
from types import FrameType
from typing import Any, Collection, Dict, List, Optional, TextIO, cast

import uvicorn
from overrides import overrides
from uvicorn.protocols.http.h11_impl import H11Protocol

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.application import create_application
from bidaf_plugin.server.middleware import LOOPBACK
from bidaf_plugin.server.service import Service

logger = logging.getLogger(__name__)

# Connections that wait to be accepted. asyncio tries so many at once, even if none can be.
_BACKLOG = 128
# How often it is said that none can be, at most.
_COMPLAINT_SECONDS = 60.0
# How long, once the server is told to stop, clients may take to read their responses.
LAST_SECONDS = 5.0
# A system allows a process some 1,000 open files, of which each connection is one.
MAX_CONNECTIONS = 512
# So long may the headers of a request take, from when the client connected or got its last response.
HEADER_SECONDS = 10.0
# So long may a client leave a response unread.
READING_SECONDS = 60.0


class Connection(H11Protocol):
    """
    A connection of uvicorn that does not wait for its client forever: neither for headers nor for
    somebody to read a response. Bodies have their deadline in `CheckedRequest`. Beyond `MAX_CONNECTIONS`, a
    client is told so and sent away.
    """

    # When the client last had its turn, by the clock of the loop.
    _waiting_since: float

    @overrides(check_signature=False)
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._waiting_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse(503, "there are too many connections; try again in a few seconds")

    @overrides
    def on_response_complete(self) -> None:
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    @overrides
    def pause_writing(self) -> None:
        self._waiting_since = self.loop.time()
        super().pause_writing()

    @overrides
    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is not an HTTP request")

    def end_if_late(self, reading_seconds: float) -> None:
        """Ends the connection if its client has let a deadline pass."""
        seconds = self.loop.time() - self._waiting_since
        if self.transport.get_write_buffer_size() > 0:
            if seconds > reading_seconds:
                self.transport.abort()
        elif self.cycle is not None and not self.cycle.response_complete:
            # It is our turn.
            pass
        elif seconds > HEADER_SECONDS:
            has_begun = bool(self.conn.trailing_data[0])
            if has_begun:
                self._refuse(408, f"the headers have not come within {HEADER_SECONDS:g} seconds")
            else:
                self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        body = json.dumps({"error": message})
        self.transport.write(
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
            f"{body}".encode("ascii")
        )
        self.transport.close()


class GracefulServer(uvicorn.Server):
    """
    A server that, once it is told to stop, answers what it has taken in, refuses what is new with 503,
    and ends when no request is open, or when all of them should have been answered. Told a second time,
    it ends at once.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._end = float("inf")
        self._next_complaint = 0.0

    @overrides(check_signature=False)
    def handle_exit(self, sig: int, frame: Optional[FrameType]) -> None:
        if self._service.is_stopping:
            self.should_exit = self.force_exit = True
        self._service.is_stopping = True
        self._end = time.monotonic() + self._service.timeout + LAST_SECONDS

    @overrides
    async def startup(self, sockets: Optional[List[socket.socket]] = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle_error)
        await super().startup(sockets)

    @overrides
    async def on_tick(self, counter: int) -> bool:
        is_told_to_end = await super().on_tick(counter)
        is_stopping = self._service.is_stopping
        for connection in self._connections():
            connection.end_if_late(LAST_SECONDS if is_stopping else READING_SECONDS)
        is_done = self._service.num_open_requests == 0 or time.monotonic() > self._end
        return is_told_to_end or (is_stopping and is_done)

    @overrides
    async def shutdown(self, sockets: Optional[List[socket.socket]] = None) -> None:
        def cut_off() -> None:
            for connection in self._connections():
                connection.transport.abort()

        timer = asyncio.get_running_loop().call_later(LAST_SECONDS, cut_off)
        await super().shutdown(sockets)
        timer.cancel()

    def _connections(self) -> List[Connection]:
        return cast(List[Connection], list(self.server_state.connections))

    def _handle_error(self, loop: asyncio.AbstractEventLoop, context: Dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or "socket" not in context:
            loop.default_exception_handler(context)
        elif loop.time() >= self._next_complaint:
            # asyncio says it with a traceback, many times a second.
            self._next_complaint = loop.time() + _COMPLAINT_SECONDS
            logger.error("cannot accept more connections (%s)", error.strerror)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket at an address, of which nobody is told yet; `DataError` if that cannot be."""
    try:
        *kind, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol, too: asyncio sets TCP_NODELAY only where it is named, and without it a
        # response would wait 40 ms for the client to confirm its first half.
        opened = socket.socket(*kind)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"cannot serve at {host}, port {port} ({reason}); --host and --port choose another address"
        ) from error
    return opened


def address_of(host: str, opened: socket.socket) -> str:
    """The address to type into a browser."""
    port = opened.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def hosts_of(host: str) -> Optional[Collection[str]]:
    """What `Host` headers may name: any, if it is served to all networks."""
    return None if host in ("0.0.0.0", "::", "") else {*LOOPBACK, host.lower()}


def make_server(service: Service, host: str, log_stream: Optional[TextIO] = None) -> GracefulServer:
    """A server for what was opened at `host`: `server.run(sockets=[opened])`."""
    app = create_application(service, hosts_of(host), log_stream)
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=_BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
    )
    return GracefulServer(config, service)
