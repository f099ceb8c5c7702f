"""Every error is answered in one sentence; details go to the log."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lingvis.errors import UserError
from lingvis.serve.logs import one_line
from lingvis.strict import explain, shortened

log = logging.getLogger("lingvis.serve")
ROUTING = {  # the framework's messages are too short
    404: "there is nothing at this address; /openapi.json lists all addresses",
    405: "this address does not allow this method; /openapi.json lists the allowed ones",
}


def add_error_handlers(app: FastAPI) -> None:
    """Answer every exception of an endpoint with {"error": sentence}."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(UserError, _user)


class ErrorMiddleware:
    """Answers unexpected exceptions with 500, and logs them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watching(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watching)
        except Exception:
            if scope["type"] != "http" or started:
                raise
            log.exception("%s %s failed", scope["method"], one_line(scope["path"]))
            answer = JSONResponse({"error": "the server failed; see its log"}, 500)
            await answer(scope, receive, send)


def sentence_of(problem: Any) -> str:
    """Turn a pydantic error into a sentence: which parameter, what is wrong, what was got."""
    name = next((part for part in reversed(problem["loc"]) if isinstance(part, str)), "request")
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {shortened(name)}; /openapi.json lists the allowed ones"
    return explain(problem, where=f"parameter {name}")


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    routed = error.detail in ("Not Found", "Method Not Allowed")
    sentence = ROUTING[error.status_code] if routed else error.detail
    return JSONResponse({"error": sentence}, error.status_code, headers=error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"error": sentence_of(error.errors()[0])}, 422)


async def _user(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422)
