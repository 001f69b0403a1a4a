import socket
from types import FrameType
from typing import Collection, Optional, TextIO

import uvicorn
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.application import create_application
from bidaf_plugin.server.host_check import LOOPBACK
from bidaf_plugin.server.service import Service


class GracefulServer(uvicorn.Server):
    """
    A server that, once it is told to stop, answers what it has taken in, refuses what is new with 503,
    and ends when no request is open. Told a second time, it ends at once.

    # Parameters

    config : `uvicorn.Config`
    service : `Service`
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @overrides(check_signature=False)
    def handle_exit(self, sig: int, frame: Optional[FrameType]) -> None:
        if self._service.is_stopping:
            self.should_exit = self.force_exit = True
        self._service.is_stopping = True

    @overrides
    async def on_tick(self, counter: int) -> bool:
        is_told_to_end = await super().on_tick(counter)
        is_done = self._service.is_stopping and self._service.num_open_requests == 0
        return is_told_to_end or is_done


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
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on"
    )
    return GracefulServer(config, service)
