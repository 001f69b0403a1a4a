from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from bidaf_plugin.server.access_log import NOTES
from bidaf_plugin.server.error_responses import document_errors
from bidaf_plugin.server.schemas import (
    Answer,
    AnswerRequest,
    Answers,
    AnswersRequest,
    AttentionAnswer,
    AttentionRequest,
    Health,
    Models,
    Question,
)
from bidaf_plugin.server.service import Service

_ERRORS = document_errors(400, 404, 408, 413, 415, 422, 429, 500, 503, 504)


def make_router(service: Service) -> APIRouter:
    """The routes of the API."""
    router = APIRouter()

    def note(request: Request, model: str, num_questions: int) -> None:
        request.scope[NOTES].update(model=model, questions=num_questions)

    # The answers are given as they are, without a second look at each: the tests compare them with
    # what is documented here.
    @router.post("/api/answer", responses={200: {"model": Answer}, **_ERRORS})
    async def answer(question: AnswerRequest, request: Request) -> JSONResponse:
        """Answers a question."""
        model = service.find_model(question.model)
        note(request, model.name, 1)
        return JSONResponse(await service.answer(model, _to_record(question)))

    @router.post("/api/answers", responses={200: {"model": Answers}, **_ERRORS})
    async def answers(questions: AnswersRequest, request: Request) -> JSONResponse:
        """Answers several questions together."""
        model = service.find_model(questions.model)
        note(request, model.name, len(questions.questions))
        records = [_to_record(question) for question in questions.questions]
        return JSONResponse({"answers": await service.answer_all(model, records)})

    @router.post("/api/attention", responses={200: {"model": AttentionAnswer}, **_ERRORS})
    async def attention(question: AttentionRequest, request: Request) -> JSONResponse:
        """What a span model attends to while it answers."""
        model = service.find_model(question.model)
        note(request, model.name, 1)
        record = question.model_dump(include={"question", "passage"})
        return JSONResponse(await service.find_attention(model, record))

    @router.get("/api/models", responses=document_errors(400))
    async def models() -> Models:
        """The models that are loaded."""
        return service.describe()

    @router.get(
        "/api/health",
        response_model=Health,
        response_model_exclude_none=True,
        responses={503: {"model": Health, "description": "The server is stopping, or has failed."}},
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
        text = service.metrics.to_text(service.health().queue)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return router


def _to_record(question: Question) -> dict[str, object]:
    return question.model_dump(exclude_none=True, exclude={"model"})
