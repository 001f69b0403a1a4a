from contextlib import asynccontextmanager
from pathlib import Path
from typing import AsyncIterator, Collection, Optional, TextIO

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.responses import FileResponse, Response
from swagger_ui_bundle import swagger_ui_path

from bidaf_plugin.server.access_log import AccessLog
from bidaf_plugin.server.body_check import BodyCheck
from bidaf_plugin.server.error_responses import add_error_handlers
from bidaf_plugin.server.host_check import LOOPBACK, HostCheck
from bidaf_plugin.server.routes import make_router
from bidaf_plugin.server.security_headers import SecurityHeaders
from bidaf_plugin.server.service import Service
from bidaf_plugin.server.whole_files import WholeFiles

_FOLDER = Path(__file__).parent
_DESCRIPTION = """\
Questions on passages, answered by Bi-Directional Attention Flow models. Bodies are JSON in UTF-8, and
characters are counted as Unicode code points. Every error is `{"error": "one sentence"}`.
"""


def create_application(
    service: Service,
    allowed_hosts: Optional[Collection[str]] = LOOPBACK,
    log_stream: Optional[TextIO] = None,
) -> FastAPI:
    """
    The API, its documentation and the page.

    # Parameters

    service : `Service`
        Starts and stops with the application.
    allowed_hosts : `Collection[str]`, optional (default = `LOOPBACK`)
        What the `Host` header may name; None for anything.
    log_stream : `TextIO`, optional (default = `sys.stderr`)
        Where the access log goes.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="BiDAF",
        version="1",
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    add_error_handlers(app)
    router = make_router(service)
    app.include_router(router)
    _add_pages(app)
    # The last one is the outermost.
    routes = (route for route in router.routes if isinstance(route, APIRoute))
    posts = {route.path for route in routes if "POST" in (route.methods or ())}
    app.add_middleware(WholeFiles)
    app.add_middleware(BodyCheck, paths=posts, timeout=service.timeout)
    if allowed_hosts is not None:
        app.add_middleware(HostCheck, allowed=allowed_hosts)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(AccessLog, service=service, stream=log_stream)
    return app


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(_FOLDER / "page" / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return FileResponse(_FOLDER / "documentation" / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        # Browsers ask for it unasked.
        return Response(status_code=204)

    app.mount("/page", StaticFiles(directory=_FOLDER / "page"))
    app.mount("/docs/files", StaticFiles(directory=_FOLDER / "documentation"))
    app.mount("/docs/swagger", StaticFiles(directory=str(swagger_ui_path)))
