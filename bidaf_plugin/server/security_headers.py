from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ONLY_FROM_HERE = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# Swagger UI has its icons in its style sheet, and styles in its elements.
_FOR_SWAGGER = f"{_ONLY_FROM_HERE}; img-src 'self' data:; style-src 'self' 'unsafe-inline'"


class SecurityHeaders:
    """
    An ASGI middleware that tells browsers to load nothing from elsewhere.

    # Parameters

    app : `ASGIApp`
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        policy = _FOR_SWAGGER if scope["path"].startswith("/docs") else _ONLY_FROM_HERE
        headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)
