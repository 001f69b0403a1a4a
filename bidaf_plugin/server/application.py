from contextlib import asynccontextmanager
from pathlib import Path
from typing import AsyncIterator, Collection, List, Optional, TextIO

from allennlp.common.util import JsonDict
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.responses import FileResponse, Response
from swagger_ui_bundle import swagger_ui_path

from bidaf_plugin.server import schemas
from bidaf_plugin.server.errors import add_error_handlers, document_errors
from bidaf_plugin.server.middleware import LOOPBACK, NOTES, AccessLog, BrowserRules, CheckedRoute
from bidaf_plugin.server.service import Service

_FOLDER = Path(__file__).parent
_DESCRIPTION = """\
Questions on passages, answered by Bi-Directional Attention Flow models. Bodies are JSON in UTF-8, and
characters are counted as Unicode code points. Every error is `{"error": "one sentence"}`.
"""
_ERRORS = document_errors(400, 404, 408, 413, 415, 422, 429, 500, 503, 504)


def create_application(
    service: Service,
    allowed_hosts: Optional[Collection[str]] = LOOPBACK,
    log_stream: Optional[TextIO] = None,
) -> FastAPI:
    """
    The API, its documentation and the page. The service starts and stops with it. `allowed_hosts` are what the
    `Host` header may name, None for anything; the access log goes to `log_stream`, by default the standard error.
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
    app.state.timeout = service.timeout
    add_error_handlers(app)
    app.include_router(_make_router(service))
    _add_pages(app)
    # The last one is the outermost.
    app.add_middleware(BrowserRules, allowed_hosts=allowed_hosts)
    app.add_middleware(AccessLog, service=service, stream=log_stream)
    return app


def _make_router(service: Service) -> APIRouter:
    """The routes of the API."""
    router = APIRouter(route_class=CheckedRoute)

    async def ask(
        request: Request,
        name: Optional[str],
        records: List[JsonDict],
        wants_attention: bool = False,
    ) -> List[JsonDict]:
        model = service.find_model(name)
        request.scope[NOTES].update(model=model.name, questions=len(records))
        return await service.answer(model, records, wants_attention)

    # The answers are given as they are, without a second look at each: the tests compare them with
    # what is documented here.
    @router.post("/api/answer", responses={200: {"model": schemas.Answer}, **_ERRORS})
    async def answer(question: schemas.AnswerRequest, request: Request) -> JSONResponse:
        """Answers a question."""
        (found,) = await ask(request, question.model, [_to_record(question)])
        return JSONResponse(found)

    @router.post("/api/answers", responses={200: {"model": schemas.Answers}, **_ERRORS})
    async def answers(questions: schemas.AnswersRequest, request: Request) -> JSONResponse:
        """Answers several questions together."""
        records = [_to_record(question) for question in questions.questions]
        return JSONResponse({"answers": await ask(request, questions.model, records)})

    @router.post("/api/attention", responses={200: {"model": schemas.AttentionAnswer}, **_ERRORS})
    async def attention(question: schemas.AttentionRequest, request: Request) -> JSONResponse:
        """What a span model attends to while it answers."""
        (found,) = await ask(request, question.model, [_to_record(question)], wants_attention=True)
        return JSONResponse(found)

    @router.get("/api/models", responses=document_errors(400))
    async def models() -> schemas.Models:
        """The models that are loaded."""
        return service.describe()

    @router.get(
        "/api/health",
        response_model=schemas.Health,
        response_model_exclude_none=True,
        responses={
            503: {"model": schemas.Health, "description": "The server is stopping, or has failed."}
        },
    )
    async def health() -> JSONResponse:
        """Whether questions are taken."""
        found = service.health()
        return JSONResponse(
            found.model_dump(exclude_none=True), 200 if found.status == "ok" else 503
        )

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Requests, times and batches, for Prometheus."""
        text = service.metrics.to_text()
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return router


def _to_record(question: BaseModel) -> JsonDict:
    return question.model_dump(exclude_none=True, exclude={"model"})


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
