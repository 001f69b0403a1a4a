import asyncio
from typing import Any, Collection, List, Optional, Tuple

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bidaf_plugin.common.files import read_json
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import MAX_NAMES

MAX_BODY_BYTES = 1_000_000
# Where the scope of a request has the route of one that was refused before it got there.
REFUSED_ROUTE = "bidaf_plugin.refused_route"
# So much of a body that is too large is still read, to be thrown away: a client that is
# still writing would not see the response otherwise.
_MAX_IGNORED_BYTES = 20 * MAX_BODY_BYTES


class BodyCheck:
    """
    An ASGI middleware that lets through only bodies that are small enough, have come in time and are
    JSON in UTF-8.

    # Parameters

    app : `ASGIApp`
    paths : `Collection[str]`
        Where bodies are posted to. Elsewhere nobody reads them.
    timeout : `float`
        Seconds in which the body must have come.
    """

    def __init__(self, app: ASGIApp, paths: Collection[str], timeout: float) -> None:
        self._app = app
        self._paths = paths
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        if not is_post or scope["path"] not in self._paths:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(Request(scope, receive))
            _check_type(Headers(scope=scope).get("content-type", ""))
            _check_json(body)
        except RequestError as error:
            # The routes are asked afterwards; here it is known already which one was meant.
            scope[REFUSED_ROUTE] = scope["path"]
            response = JSONResponse({"error": error.message}, error.status, error.headers)
            await response(scope, receive, send)
        except ClientDisconnect:
            pass
        else:
            await self._app(scope, _replay(body, receive), send)

    async def _read(self, request: Request) -> bytes:
        body = bytearray()
        num_bytes = 0
        try:
            async with asyncio.timeout(self._timeout):
                async for chunk in request.stream():
                    num_bytes += len(chunk)
                    if num_bytes <= MAX_BODY_BYTES:
                        body += chunk
                    if num_bytes > _MAX_IGNORED_BYTES:
                        break
        except TimeoutError as error:
            raise RequestError(
                408, f"the body has not come within {self._timeout:g} seconds"
            ) from error
        if num_bytes > MAX_BODY_BYTES:
            raise RequestError(413, f"the body has more than {MAX_BODY_BYTES:,} bytes")
        return bytes(body)


def _check_type(content_type: str) -> None:
    media_type, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].strip(' "')
    if media_type.strip() != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise RequestError(415, "the Content-Type must be application/json, in UTF-8")


def _check_json(body: bytes) -> None:
    try:
        read_json(body.decode("utf-8"), _check_size)
    except UnicodeDecodeError as error:
        raise RequestError(400, f"the body is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise RequestError(400, "the body is too deeply nested") from error
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error


def _check_size(pairs: List[Tuple[str, Any]]) -> None:
    # Each field that is not known becomes an error, and a hundred thousand of them take a second, in
    # which the server does nothing else.
    if len(pairs) > MAX_NAMES:
        raise RequestError(413, f"an object has more than {MAX_NAMES:,} fields")


def _replay(body: bytes, receive: Receive) -> Receive:
    first: Optional[Message] = {"type": "http.request", "body": body, "more_body": False}

    async def receive_again() -> Message:
        nonlocal first
        message, first = first, None
        return message or await receive()

    return receive_again
