"""Messages between a process and its decoder process: a JSON header and raw bytes, never pickled objects.

A decoder that runs code of a hostile picture can only send wrong numbers; every length is checked.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import socket
import struct
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data import signature
from lingvis.data.images import FORMATS
from lingvis.data.video.formats import FORMATS as VIDEO_FORMATS
from lingvis.features.decoding.content import DecodeRequest, JpegRequest, PictureContent, ViewRequest
from lingvis.features.decoding.exif import CameraFacts, camera_name
from lingvis.features.pictures import BROKEN, BrokenPicture, DecodedPicture
from lingvis.features.preprocessing import Preprocessing

LENGTHS = struct.Struct(">QQ")  # of the header and of the bytes
HEADER_BYTES = 2**24  # a thousand boxes have 100,000
JPEG_BYTES = 2**26
REASON = 300  # characters
FILE = b"f"  # travels with an open file


class MessageError(Exception):
    """A message that no decoder sends."""


class Channel:
    """Sends and receives messages over a socket, before a deadline (of time.monotonic) if there is one."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(
        self, header: dict[str, Any], data: Sequence[Any] = (), *, deadline: float | None = None
    ) -> None:
        """Send a message; raises TimeoutError."""
        text = json.dumps(header).encode()
        parts = [memoryview(part).cast("B") for part in data if len(part)]
        lengths = LENGTHS.pack(len(text), sum(map(len, parts)))
        for part in (memoryview(lengths + text), *parts):
            self._wait(deadline)
            self._connection.sendall(part)

    def receive(self, *, limit: int, deadline: float | None = None) -> tuple[dict[str, Any], bytearray]:
        """Receive a message with at most `limit` bytes; raises TimeoutError, EOFError at the end and MessageError."""
        header_length, length = LENGTHS.unpack(self._read(LENGTHS.size, deadline))
        if header_length > HEADER_BYTES or length > limit:
            raise MessageError(f"a message of {header_length} + {length} bytes")
        text, data = self._read(header_length, deadline), self._read(length, deadline)
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MessageError("the header is not JSON") from error
        if not isinstance(header, dict):
            raise MessageError("the header is not an object")
        return header, data

    def send_file(self, handle: int, *, deadline: float | None = None) -> None:
        """Hand an open file over; raises TimeoutError."""
        self._wait(deadline)
        socket.send_fds(self._connection, [FILE], [handle])

    def receive_file(self) -> int:
        """Receive an open file; raises EOFError at the end and MessageError."""
        mark, handles, *_ = socket.recv_fds(self._connection, len(FILE), 1)
        if not mark:
            raise EOFError
        if mark != FILE or len(handles) != 1:
            raise MessageError("a message without a file")
        return handles[0]

    def close(self) -> None:
        """Close the socket, which ends the process at the other end."""
        self._connection.close()

    def _read(self, length: int, deadline: float | None) -> bytearray:
        data = bytearray(length)
        rest = memoryview(data)
        while rest:
            self._wait(deadline)
            count = self._connection.recv_into(rest)
            if not count:
                raise EOFError
            rest = rest[count:]
        return data

    def _wait(self, deadline: float | None) -> None:
        # After the deadline a message that has already arrived is still read.
        self._connection.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))


def request_header(request: DecodeRequest, seconds: float) -> dict[str, Any]:
    """Return a request as JSON; its bytes are the file."""
    views, jpeg = request.views, request.jpeg
    return {
        "seconds": seconds,
        "pixels": request.pixels,
        "longer_side": request.longer_side,
        "jpeg": [jpeg.side, jpeg.quality, jpeg.short_side] if jpeg is not None else None,
        "boxes": list(views.boxes) if views is not None else None,
        "crops": views is not None and views.crops,
        "preprocessing": _fields(views.preprocessing) if views is not None else None,
    }


def read_request(header: dict[str, Any]) -> DecodeRequest:
    """Return the request of a header."""
    views = jpeg = None
    if header["preprocessing"] is not None:
        fields = header["preprocessing"]
        fields |= {"mean": tuple(fields["mean"]), "std": tuple(fields["std"])}
        views = ViewRequest(Preprocessing(**fields), header["boxes"], header["crops"])
    if header["jpeg"] is not None:
        jpeg = JpegRequest(*header["jpeg"])
    return DecodeRequest(views, header["longer_side"], jpeg, header["pixels"])


def content_message(content: PictureContent) -> tuple[dict[str, Any], list[Any]]:
    """Return header and bytes for a decoded picture."""
    arrays: list[NDArray[Any]] = []
    if content.views is not None:
        arrays = [content.views.pixels, content.views.boxes, content.views.fractions]
    elif content.pixels is not None:
        arrays = [content.pixels]
    header = {
        "width": content.width,
        "height": content.height,
        "format": content.format,
        **camera_fields(content.facts),
        "signature": content.signature.hex() if content.signature is not None else None,
        "shape": list(content.pixels.shape) if content.pixels is not None else None,
    }
    parts: list[Any] = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    return header, [*parts, content.jpeg or b""]


def camera_fields(facts: CameraFacts) -> dict[str, Any]:
    """Return the facts of a camera as JSON."""
    return {
        "taken": facts.taken.isoformat() if facts.taken is not None else None,
        "camera": facts.camera,
        "position": None if facts.latitude is None else [facts.latitude, facts.longitude],
    }


def broken_message(broken: BrokenPicture) -> dict[str, Any]:
    """Return the header for a picture that cannot be used."""
    return {"broken": type(broken).__name__, "reason": str(broken)}


def reply_limit(request: DecodeRequest) -> int:
    """Return the largest number of bytes that a decoder may send for a request."""
    return sum(math.prod(shape) * kind.itemsize for shape, kind in _arrays(request)) + (
        JPEG_BYTES if request.jpeg is not None else 0
    )


def raise_broken(header: dict[str, Any]) -> None:
    """Raise the BrokenPicture of a reply, if it is one."""
    if "broken" in header:
        reason = "".join(c for c in str(header.get("reason"))[:REASON] if c.isprintable())
        raise BROKEN.get(str(header["broken"]), BrokenPicture)(reason)


def read_content(
    request: DecodeRequest, header: dict[str, Any], data: bytearray | memoryview
) -> PictureContent:
    """Return the picture of a reply; raises BrokenPicture if it is none, MessageError for an impossible reply."""
    raise_broken(header)
    try:
        width, height = _size(header["width"]), _size(header["height"])
        kind = header["format"]
        if kind.upper() not in (*FORMATS, *VIDEO_FORMATS):
            raise ValueError(f"format {kind!r}")
        facts = camera_facts(header)
        mark = _signature(header["signature"]) if request.jpeg is not None else None
        arrays, used = [], 0
        for shape, element in _arrays(request, header["shape"]):
            count = math.prod(shape)
            arrays.append(np.frombuffer(data, element, count, used).reshape(shape))
            used += count * element.itemsize
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MessageError(str(error)) from error
    views = None
    if request.views is not None:
        views = DecodedPicture(arrays[0], arrays[1], arrays[2], request.views.preprocessing)
    pixels = arrays[0] if request.longer_side is not None else None
    jpeg = bytes(data[used:]) if request.jpeg is not None else None
    return PictureContent(width, height, kind, facts, views, pixels, jpeg, mark)


@functools.lru_cache(maxsize=8)
def _fields(preprocessing: Preprocessing) -> dict[str, Any]:
    return dataclasses.asdict(preprocessing)


def _arrays(
    request: DecodeRequest, sent: Sequence[int] | None = None
) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Return shape and type of each array of a reply; sent: the shape of scaled pixels, the largest by default."""
    if request.views is not None:
        size = request.views.preprocessing.size
        boxes = (max(1, len(request.views.boxes)), 4)
        return [
            ((request.views.count, size, size, 3), np.dtype(np.uint8)),
            (boxes, np.dtype(np.float32)),
            (boxes, np.dtype(np.float64)),
        ]
    if request.longer_side is None:
        return []
    height, width, channels = (request.longer_side, request.longer_side, 3) if sent is None else sent
    if not (0 < height <= request.longer_side and 0 < width <= request.longer_side and channels == 3):
        raise ValueError(f"shape {sent}")
    return [((height, width, channels), np.dtype(np.uint8))]


def camera_facts(header: dict[str, Any]) -> CameraFacts:
    """Return the facts of a camera in a header; raises for impossible ones."""
    taken = datetime.fromisoformat(header["taken"]) if header["taken"] is not None else None
    latitude, longitude = header["position"] or (None, None)
    for degrees, largest in ((latitude, 90), (longitude, 180)):
        if degrees is not None and not -largest <= float(degrees) <= largest:
            raise ValueError(f"position {degrees!r}")
    return CameraFacts(taken, camera_name(None, header["camera"]), latitude, longitude)


def _signature(text: str) -> bytes:
    value = bytes.fromhex(text)
    if len(value) != signature.BYTES:
        raise ValueError(f"signature of {len(value)} bytes")
    return value


def _size(value: Any) -> int:
    if not isinstance(value, int) or not 0 < value < 2**31:
        raise ValueError(f"size {value!r}")
    return value
