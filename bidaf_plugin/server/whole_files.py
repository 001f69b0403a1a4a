from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class WholeFiles:
    """
    An ASGI middleware for files that are sent whole, whatever part is asked for, as RFC 9110 allows:
    they are small. Starlette would refuse a `Range` that is wrong with plain text.

    # Parameters

    app : `ASGIApp`
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_without_offer(message: Message) -> None:
            if message["type"] == "http.response.start":
                del MutableHeaders(scope=message)["accept-ranges"]
            await send(message)

        if scope["type"] == "http":
            scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
        await self._app(scope, receive, send_without_offer)
