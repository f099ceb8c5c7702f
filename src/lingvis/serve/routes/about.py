"""Routes about the server: health, numbers, sessions."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lingvis import __version__
from lingvis.serve.answers import CollectionAnswer, ErrorAnswer, HealthAnswer, LimitsAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.limits.uploads import read_body
from lingvis.serve.server import ServerOfRequest

TOKEN_BYTES, TOKEN_SECONDS = 4096, 10.0
METRICS = "text/plain; version=0.0.4; charset=utf-8"
REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "The token is missing or wrong."}
}
_TOKEN = {"type": "object", "required": ["token"], "properties": {"token": {"type": "string"}}}
BODY = {"required": True, "content": {"application/json": {"schema": _TOKEN}}}
router = APIRouter(tags=["server"])


@router.get("/api/health", summary="Whether the server runs")
async def health() -> HealthAnswer:
    """Needs no token."""
    return HealthAnswer(status="ok", version=__version__)


@router.get(
    "/api/collection",
    summary="Numbers of the collection",
    responses=REFUSED,
    dependencies=[Depends(allowed)],
)
async def collection(server: ServerOfRequest) -> CollectionAnswer:
    """The size of the collection, the languages of its model, and the limits of a query."""
    numbers = await server.reads.run(server.engine.statistics)
    model, languages, uses_language, dim = await server.reads.run(server.engine.model)
    return CollectionAnswer.of(
        numbers,
        model=model,
        languages=list(languages),
        uses_language=uses_language,
        dim=dim,
        limits=LimitsAnswer.of(server.settings),
    )


@router.post(
    "/api/session",
    summary="Exchange the token for a cookie",
    status_code=204,
    responses={**REFUSED, 422: {"model": ErrorAnswer, "description": "The body holds no token."}},
    openapi_extra={"requestBody": BODY},
)
async def start_session(server: ServerOfRequest, request: Request) -> Response:
    """For browsers, which should not store the token."""
    with server.sessions.held(request):
        parts = [part async for part in read_body(request, limit=TOKEN_BYTES, seconds=TOKEN_SECONDS)]
    try:
        token = json.loads(b"".join(parts))["token"]
        if not isinstance(token, str):
            raise TypeError
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise HTTPException(422, 'send JSON of the form {"token": "..."}') from error
    refusal = await server.access.refuse_token(token.encode(errors="surrogatepass"), request.scope)
    if refusal is not None:
        raise refusal.exception()
    response = Response(status_code=204)
    server.access.start(request, response)
    return response


@router.delete("/api/session", summary="Forget the cookie", status_code=204)
async def end_session(server: ServerOfRequest, request: Request) -> Response:
    """The cookie is no longer valid."""
    response = Response(status_code=204)
    server.access.end(request, response)
    return response


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={**REFUSED, 200: {"content": {"text/plain": {}}}},
    dependencies=[Depends(allowed)],
)
async def metrics(server: ServerOfRequest) -> Response:
    """Requests, times, pictures."""
    counts = [(await server.reads.run(one.engine.statistics)).pictures for one in server.collections.values()]
    server.metrics.pictures.set(sum(counts))
    return Response(server.metrics.text(), media_type=METRICS)
