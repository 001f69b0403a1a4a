import json
import sys
import time
from datetime import UTC, datetime
from http import HTTPMethod
from typing import Any, Dict, Optional, TextIO

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bidaf_plugin.server.body_check import REFUSED_ROUTE
from bidaf_plugin.server.service import Service

# Where a route may put what else the log should say, in the scope of the request.
NOTES = "bidaf_plugin.notes"


class AccessLog:
    """
    An ASGI middleware that writes a line of JSON for each request and counts it. What people ask is
    not in it.

    # Parameters

    app : `ASGIApp`
    service : `Service`
    stream : `TextIO`, optional (default = `sys.stderr`)
        Where the lines go.
    """

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
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        self._service.num_open_requests += 1
        try:
            await self._app(scope, receive, send_and_look)
        finally:
            self._service.num_open_requests -= 1
            seconds = time.perf_counter() - started
            self._service.metrics.observe_request(method, _route(scope), status, seconds)
            self._write(scope, method, status, seconds, notes)

    def _write(
        self, scope: Scope, method: str, status: int, seconds: float, notes: Dict[str, Any]
    ) -> None:
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


def _route(scope: Scope) -> str:
    """The path as the routes have it, of which there are few; what clients send may be anything."""
    route: Optional[BaseRoute] = scope.get("route")
    return getattr(route, "path", None) or scope.get(REFUSED_ROUTE, "other")
