"""
Every error of a request as `{"error": "one sentence"}`.
"""

from typing import Any, Dict, Optional, Sequence, Union

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bidaf_plugin.server.schemas import Error

# What pydantic calls it, and what we say.
_SENTENCES = {
    "missing": "{name} is missing",
    "extra_forbidden": "{name} is not known here",
    "string_type": "{name} must be a string",
    "string_unicode": "{name} is not text: it has half a character (a lone surrogate)",
    "string_pattern_mismatch": "{name} is empty",
    "string_too_long": "{name} has more than {max_length:,} characters",
    "list_type": "{name} must be a list",
    "too_long": "{name} has more than {max_length:,} items",
    "too_short": "{name} must have at least {min_length} item",
    "dict_type": "{name} must be an object of strings",
    "int_type": "{name} must be a whole number",
    "greater_than_equal": "{name} must be at least {ge}",
    "less_than_equal": "{name} must be at most {le}",
    "value_error": "{name}: {error}",
    "model_attributes_type": "{name} must be an object",
    "model_type": "{name} must be an object",
}
_TOO_LARGE = ("string_too_long", "too_long")

_MEANINGS = {
    400: "Not JSON, not UTF-8 or too deeply nested; or a `Host` header that is not this server's.",
    404: "No such model.",
    408: "The body did not come in time.",
    413: "Too long.",
    415: "Not `application/json`.",
    422: "A field is missing, wrong or unknown; the sentence names it.",
    429: "Too many questions wait; `Retry-After` says when to try again.",
    500: "The model failed.",
    503: "The server is stopping (`Retry-After` says when to try again), or its models have failed.",
    504: "No answer in time.",
}


class RequestError(HTTPException):
    """
    A request that gets no answer: the status of HTTP, one sentence for whoever asked, and after how many
    seconds it is worth trying again.
    """

    def __init__(self, status: int, message: str, retry_after: Optional[int] = None) -> None:
        headers = None if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, message, headers)


def document_errors(*statuses: int) -> Dict[Union[int, str], Dict[str, Any]]:
    """For the OpenAPI description: the errors of a route."""
    return {status: {"model": Error, "description": _MEANINGS[status]} for status in statuses}


def add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return _respond(413 if first["type"] in _TOO_LARGE else 422, _sentence(first))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> JSONResponse:
        return _respond(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> JSONResponse:
        # uvicorn writes the traceback into the server's log.
        return _respond(500, "the server failed on this request")


def _respond(status: int, message: str, headers: Optional[Dict[str, str]] = None) -> JSONResponse:
    # A name that a client sent may be half a character, which cannot be sent back.
    message = message.encode("utf-8", "replace").decode("utf-8")
    return JSONResponse({"error": message}, status, headers)


def _sentence(error: Dict[str, Any]) -> str:
    name = _name(error["loc"])
    known = _SENTENCES.get(error["type"])
    if known is None:
        return f"{name}: {error['msg']}"
    return known.format(name=name, **error.get("ctx", {}))


def _name(location: Sequence[Union[str, int]]) -> str:
    """Of a field: ("body", "questions", 3, "passage") is 'questions[3].passage'."""
    name = ""
    for part in location[1:]:
        # Names are what clients have sent, so that line breaks and the like are escaped.
        name += f"[{part}]" if isinstance(part, int) else f".{repr(part[:60])[1:-1]}"
    return f"'{name.lstrip('.')}'" if name else "the body"
