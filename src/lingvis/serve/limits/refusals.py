"""The answer to a request that is not allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status, one sentence for the client, and further headers."""

    status: int
    sentence: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> JSONResponse:
        """Return the answer of a middleware."""
        return JSONResponse({"error": self.sentence}, self.status, headers=dict(self.headers))

    def exception(self) -> HTTPException:
        """Return the exception of a route."""
        return HTTPException(self.status, self.sentence, headers=dict(self.headers))
