import asyncio
import logging
import socket
import time
from types import FrameType
from typing import Any, Collection, Dict, List, Optional, TextIO, cast

import uvicorn
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.application import create_application
from bidaf_plugin.server.connection import READING_SECONDS, Connection
from bidaf_plugin.server.host_check import LOOPBACK
from bidaf_plugin.server.service import Service

logger = logging.getLogger(__name__)

# Connections that wait to be accepted. asyncio tries so many at once, even if none can be.
_BACKLOG = 128
# How often it is said that none can be, at most.
_COMPLAINT_SECONDS = 60.0
# How long, once the server is told to stop, clients may take to read their responses.
LAST_SECONDS = 5.0


class GracefulServer(uvicorn.Server):
    """
    A server that, once it is told to stop, answers what it has taken in, refuses what is new with 503,
    and ends when no request is open, or when all of them should have been answered. Told a second time,
    it ends at once.

    # Parameters

    config : `uvicorn.Config`
    service : `Service`
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
