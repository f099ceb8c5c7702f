"""Read the bodies of requests up to a limit, and decode pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, BinaryIO

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from lingvis.features.decoding.content import DecodeRequest, ViewRequest
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture, CostlyPicture, DecodedPicture, UnknownFormat
from lingvis.features.preprocessing import Preprocessing
from lingvis.serve.queries import SearchQuery
from lingvis.serve.settings import QUERIES

FIELD_BYTES = 20_000
FIELDS = 2 * QUERIES + 20


async def read_body(request: Request, *, limit: int, seconds: float) -> AsyncGenerator[bytes]:
    """Yield the parts of a body as they arrive; 413 beyond the limit, 408 if it takes too long."""
    too_large = HTTPException(413, f"the request is larger than {limit} bytes; send less")
    if int(request.headers.get("content-length", 0)) > limit:
        raise too_large
    received = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                received += len(chunk)
                if received > limit:
                    raise too_large
                yield chunk
    except TimeoutError as error:
        raise HTTPException(408, f"the request was not sent within {seconds:g} seconds") from error
    except ClientDisconnect as error:
        raise HTTPException(400, "the request was interrupted") from error


async def read_form(request: Request, *, limit: int, seconds: float) -> tuple[SearchQuery, UploadFile]:
    """Return the fields of a query and its picture, which the caller closes."""
    _check_form_type(request.headers)
    body = read_body(request, limit=limit + FIELDS * FIELD_BYTES, seconds=seconds)
    parser = MultiPartParser(request.headers, body, max_files=1, max_fields=FIELDS, max_part_size=FIELD_BYTES)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise HTTPException(400, f"the form cannot be read: {error.message}") from error
    fields: dict[str, Any] = dict(form.multi_items())
    image = fields.pop("image", None)
    for name in ("q", "without", "prefer"):
        if name in fields:
            fields[name] = form.getlist(name)
    try:
        if not isinstance(image, UploadFile):
            raise HTTPException(422, "the field image is missing; send a picture in it")
        if image.size is not None and image.size > limit:
            raise HTTPException(413, f"the picture is larger than {limit} bytes; send a smaller one")
        return SearchQuery.model_validate(fields), image
    except ValidationError as error:
        await form.close()
        raise RequestValidationError(error.errors()) from error
    except HTTPException:
        await form.close()
        raise


def _check_form_type(headers: Headers) -> None:
    """Raise 415 unless the body is a form in UTF-8.

    Python has codecs that fail in their own ways or take quadratic time, and remembers every unknown name of one.
    """
    kind, options = parse_options_header(headers.get("content-type"))
    if kind != b"multipart/form-data":
        raise HTTPException(415, "send the picture as multipart/form-data, in the field image")
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise HTTPException(415, "send the form in UTF-8; leave charset out of its Content-Type")


def decode_upload(
    file: BinaryIO, preprocessing: Preprocessing, decoders: DecoderPool, *, pixels: int
) -> DecodedPicture:
    """Decode an uploaded picture for a model; 413, 415 or 422 if it is too costly, no picture or damaged."""
    try:
        request = DecodeRequest(views=ViewRequest(preprocessing), pixels=pixels)
        views = decoders.decode(file.read(), request).views
    except UnknownFormat as error:
        raise HTTPException(
            415,
            "the file is not a picture of a known format; send a JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF",
        ) from error
    except CostlyPicture as error:
        raise HTTPException(413, f"the picture cannot be used: {error}") from error
    except BrokenPicture as error:
        raise HTTPException(422, "the picture is damaged; send another one") from error
    assert views is not None  # requested
    return views
