from typing import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HostCheck:
    """
    An ASGI middleware that refuses requests with a foreign name in their `Host` header: a page of
    another site could otherwise have its own name point to this machine, and read the answers (DNS
    rebinding).

    # Parameters

    app : `ASGIApp`
    allowed : `Collection[str]`
        Names and addresses, without ports.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_allowed(Headers(scope=scope).get("host", "")):
            message = "the Host header does not name this server; --host says where it is reached"
            await JSONResponse({"error": message}, 400)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_allowed(self, host: str) -> bool:
        try:
            return urlsplit(f"//{host}").hostname in self._allowed
        except ValueError:
            return False
