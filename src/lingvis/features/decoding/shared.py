"""Several picture files per message: a decoder process reads them and writes their views into memory that both share.

A message costs the parent as much as decoding a small picture, and it carries no pixels: so one process can feed a GPU.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.picture_input import PictureInput
from lingvis.features.decoding.content import Decode, DecodeRequest, PictureContent, decode_file
from lingvis.features.decoding.messages import (
    MessageError,
    broken_message,
    content_message,
    read_content,
    read_request,
    reply_limit,
    request_header,
)
from lingvis.features.pictures import BrokenPicture

FILES = "files"  # in the header of a request
BLOCK = "block"  # bytes of a new block, whose file follows the header
MOST_BYTES = 2**25  # of a block

Wanted = tuple[PictureInput, DecodeRequest]


class NoSharedMemoryError(Exception):
    """The system gives no memory that processes can share."""


def new_block(size: int) -> tuple[int, mmap.mmap]:
    """Return an open file without a name, and its memory; on Linux nobody can change its size."""
    try:
        handle = _new_file(size)
        try:
            return handle, mmap.mmap(handle, size)
        except OSError:
            os.close(handle)
            raise
    except OSError as error:
        raise NoSharedMemoryError(str(error)) from error


def _new_file(size: int) -> int:
    if sys.platform != "linux":
        with tempfile.TemporaryFile() as file:
            file.truncate(size)
            return os.dup(file.fileno())
    import fcntl

    handle = os.memfd_create("views", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(handle, size)
        # A decoder that made the block shorter would end the process that reads it.
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError:
        os.close(handle)
        raise
    return handle


def block_bytes(files: Sequence[Wanted]) -> int:
    """Return the bytes that the parts of all files may need."""
    return sum(reply_limit(request) for _, request in files)


def files_header(files: Sequence[Wanted], seconds: float, *, block: int | None) -> dict[str, Any]:
    """Return a request as JSON; block: the size of a new block."""
    listed = [[os.path.abspath(str(path)), request_header(request, seconds)] for path, request in files]
    return {"seconds": seconds, FILES: listed, BLOCK: block}


def answer_files(header: dict[str, Any], block: mmap.mmap, decode: Decode) -> dict[str, Any]:
    """Decode the files of a request into the block, one after another; returns the reply."""
    replies, place = [], 0
    for path, fields in header[FILES]:
        request = read_request(fields)
        try:
            reply, parts = content_message(decode_file(path, request, decode))
        except BrokenPicture as broken:
            reply, parts = broken_message(broken), []
        used = place
        for part in parts:
            data = memoryview(part).cast("B")
            block[used : used + len(data)] = data
            used += len(data)
        replies.append(reply)
        place += reply_limit(request)
    return {"replies": replies}


def read_replies(
    files: Sequence[Wanted], header: dict[str, Any], block: mmap.mmap
) -> list[PictureContent | BrokenPicture]:
    """Return the pictures of a reply, or why they are none; raises MessageError for an impossible reply."""
    replies = header.get("replies")
    if not isinstance(replies, list) or len(replies) != len(files):
        raise MessageError("not a reply per file")
    # A copy, since the block serves the next message, and a decoder could change it while its content is checked.
    content = memoryview(_copy(block, block_bytes(files)).data)
    results: list[PictureContent | BrokenPicture] = []
    place = 0
    for (_, request), reply in zip(files, replies, strict=True):
        size = reply_limit(request)
        if not isinstance(reply, dict):
            raise MessageError("a reply is not an object")
        try:
            results.append(read_content(request, reply, content[place : place + size]))
        except BrokenPicture as broken:
            results.append(broken)
        place += size
    return results


def fit_block(files: Sequence[Wanted]) -> bool:
    """Whether the pictures are files and their parts have a known size that is not too large."""
    known = all(isinstance(path, str | Path) and request.jpeg is None for path, request in files)
    return known and 0 < block_bytes(files) <= MOST_BYTES


def _copy(block: mmap.mmap, size: int) -> NDArray[np.uint8]:
    return np.frombuffer(block, np.uint8, size).copy()  # by numpy, so that other threads run meanwhile
