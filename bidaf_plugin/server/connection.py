import asyncio
import json
from http import HTTPStatus

from overrides import overrides
from uvicorn.protocols.http.h11_impl import H11Protocol

# A system allows a process some 1,000 open files, of which each connection is one.
MAX_CONNECTIONS = 512
# So long may the headers of a request take, from when the client connected or got its last response.
HEADER_SECONDS = 10.0
# So long may a client leave a response unread.
READING_SECONDS = 60.0


class Connection(H11Protocol):
    """
    A connection of uvicorn that does not wait for its client forever: neither for headers nor for
    somebody to read a response. Bodies have their deadline in `BodyCheck`. Beyond `MAX_CONNECTIONS`, a
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
