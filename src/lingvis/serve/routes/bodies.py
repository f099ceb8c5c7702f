"""Bodies of requests that are JSON."""

from __future__ import annotations

import json
from typing import TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lingvis.serve.limits.uploads import read_body

BODY_BYTES, BODY_SECONDS = 1_000_000, 20.0
Body = TypeVar("Body", bound=BaseModel)


async def read_json_body(request: Request, model: type[Body]) -> Body:
    """Return a body; 415 unless it is marked as JSON, which no page of another site can send without permission."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send JSON, with the header Content-Type: application/json")
    parts = [part async for part in read_body(request, limit=BODY_BYTES, seconds=BODY_SECONDS)]
    try:
        fields = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, "the body is not JSON; /openapi.json describes it") from error
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


def body_of(model: type[BaseModel]) -> dict[str, object]:
    """Return the description of a body for the OpenAPI document."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
