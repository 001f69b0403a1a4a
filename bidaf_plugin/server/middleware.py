"""
What every request goes through before it is answered: ASGI middleware, and the check of its body.
"""

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from http import HTTPMethod
from typing import Any, Callable, Collection, Coroutine, Dict, List, Optional, TextIO, Tuple
from urllib.parse import urlsplit

from fastapi.routing import APIRoute
from overrides import overrides
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bidaf_plugin.common.files import read_json
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import MAX_NAMES
from bidaf_plugin.server.service import Service

# Where a route puts, in the scope of its request, what else the access log should say.
NOTES = "bidaf_plugin.notes"

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ONLY_FROM_HERE = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# Swagger UI has its icons in its style sheet, and styles in its elements.
_FOR_SWAGGER = f"{_ONLY_FROM_HERE}; img-src 'self' data:; style-src 'self' 'unsafe-inline'"

MAX_BODY_BYTES = 1_000_000
# So much of a body that is too large is still read, to be thrown away: a client that is
# still writing would not see the response otherwise.
_MAX_IGNORED_BYTES = 20 * MAX_BODY_BYTES


class AccessLog:
    """Writes a line of JSON for each request, and counts it. What people ask is not in it."""

    def __init__(self, app: ASGIApp, service: Service, stream: Optional[TextIO] = None) -> None:
        self._app = app
        self._service = service
        self._stream = stream or sys.stderr

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        # Clients may make up any number of others.
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "other"
        notes: Dict[str, Any] = scope.setdefault(NOTES, {})

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._service.is_stopping:
                    MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        self._service.num_open_requests += 1
        try:
            await self._app(scope, receive, send_and_look)
        finally:
            self._service.num_open_requests -= 1
            seconds = time.perf_counter() - started
            # The path as the routes have it, of which there are few; what clients send may be anything.
            route = getattr(scope.get("route"), "path", None) or "other"
            self._service.metrics.requests.labels(method, route, status).inc()
            self._service.metrics.request_seconds.labels(route).observe(seconds)
            client = scope.get("client")
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": client[0] if client else None,
                "method": method,
                "path": scope["path"][:200],
                "status": status,
                "milliseconds": round(seconds * 1000, 1),
                **notes,
            }
            print(json.dumps(line), file=self._stream, flush=True)


class BrowserRules:
    """
    What keeps the page safe, and answers simple:

    - Requests with a foreign name in their `Host` header are refused: a page of another site could
      otherwise have its own name point to this machine, and read the answers (DNS rebinding).
    - Browsers are told to load nothing from elsewhere.
    - Files are sent whole, whatever part is asked for, as RFC 9110 allows: they are small. Starlette
      would refuse a `Range` that is wrong with plain text.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Optional[Collection[str]] = LOOPBACK) -> None:
        self._app = app
        # Names and addresses of this server, without ports; None for any.
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        policy = _FOR_SWAGGER if scope["path"].startswith("/docs") else _ONLY_FROM_HERE

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = policy
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
                del headers["accept-ranges"]
            await send(message)

        app = self._app
        if not self._is_allowed(Headers(scope=scope).get("host", "")):
            message = "the Host header does not name this server; --host says where it is reached"
            app = JSONResponse({"error": message}, 400)
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
        await app(scope, receive, send_with_headers)

    def _is_allowed(self, host: str) -> bool:
        if self._allowed_hosts is None:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self._allowed_hosts
        except ValueError:
            return False


class CheckedRoute(APIRoute):
    """A route to which bodies come only as `CheckedRequest` lets them."""

    @overrides
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_checked(request: Request) -> Response:
            return await handle(CheckedRequest(request.scope, request.receive))

        return handle_checked


class CheckedRequest(Request):
    """
    A request whose body is small enough, has come within the `timeout` of the application's state, and is JSON in
    UTF-8.
    """

    @overrides
    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await self._read(self.app.state.timeout)
            _check_type(self.headers.get("content-type", ""))
            # This is what `json()` gives.
            self._json = _parse(self._body)
        return self._body

    async def _read(self, timeout: float) -> bytes:
        body = bytearray()
        num_bytes = 0
        try:
            async with asyncio.timeout(timeout):
                async for chunk in self.stream():
                    num_bytes += len(chunk)
                    if num_bytes <= MAX_BODY_BYTES:
                        body += chunk
                    if num_bytes > _MAX_IGNORED_BYTES:
                        break
        except TimeoutError as error:
            raise RequestError(408, f"the body has not come within {timeout:g} seconds") from error
        if num_bytes > MAX_BODY_BYTES:
            raise RequestError(413, f"the body has more than {MAX_BODY_BYTES:,} bytes")
        return bytes(body)


def _check_type(content_type: str) -> None:
    media_type, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].strip(' "')
    if media_type.strip() != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise RequestError(415, "the Content-Type must be application/json, in UTF-8")


def _parse(body: bytes) -> Any:
    try:
        return read_json(body.decode("utf-8"), _check_size)
    except UnicodeDecodeError as error:
        raise RequestError(400, f"the body is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise RequestError(400, "the body is too deeply nested") from error
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error


def _check_size(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    # Each field that is not known becomes an error, and a hundred thousand of them take a second, in
    # which the server does nothing else.
    if len(pairs) > MAX_NAMES:
        raise RequestError(413, f"an object has more than {MAX_NAMES:,} fields")
    return dict(pairs)
