"""The program of a decoder process: it decodes the pictures that it receives on its standard input, a socket.

It must stay quick to start: no module that it imports may import torch or pydantic.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import mmap
import os
import socket
import sys
from typing import Any

from lingvis.data.images import readable_formats
from lingvis.features.decoding.content import DecodeRequest, PictureContent, decode_content
from lingvis.features.decoding.messages import Channel, broken_message, content_message, read_request
from lingvis.features.decoding.shared import BLOCK, FILES, answer_files
from lingvis.features.decoding.video import decode_frames
from lingvis.features.decoding.video_messages import VIDEO, read_video_request, reply_message
from lingvis.features.pictures import BrokenPicture, CostlyPicture, broken_picture

try:
    import resource
except ImportError:  # without it, only the parent's limit on time holds
    resource = None  # type: ignore[assignment]

OPEN_FILES = 32
NICENESS = 10  # so that costly pictures slow down neither searches nor the rest of the machine
TOO_LARGE = "decoding it needs too much memory; make it smaller"
MEMORY_NOW = "/proc/self/statm"  # in pages


def main() -> None:
    """Decode pictures until the parent closes its end.

    Arguments: bytes of the largest file, and of memory beyond those at the start.
    """
    file_bytes, memory = int(sys.argv[1]), int(sys.argv[2])
    _use_one_thread(readable_formats())
    _limit(memory)
    channel = Channel(socket.socket(fileno=0))
    block = mmap.mmap(-1, 1)  # until the first one comes
    with contextlib.suppress(EOFError, ConnectionError):
        channel.send({"ready": True})
        while True:
            header, data = channel.receive(limit=file_bytes)
            _limit_processor_time(header["seconds"])
            if VIDEO in header:
                _answer_video(channel, header)
            elif FILES in header:
                block = _block(channel, header, block)
                channel.send(answer_files(header, block, _decode))
            else:
                channel.send(*_answer(header, data))


def _answer(header: dict[str, Any], data: bytearray) -> tuple[dict[str, Any], list[Any]]:
    file = bytes(data)
    data.clear()  # it may be large
    try:
        return content_message(_decode(file, read_request(header)))
    except BrokenPicture as broken:
        return broken_message(broken), []


def _decode(file: bytes, request: DecodeRequest) -> PictureContent:
    try:
        return decode_content(file, request)
    except MemoryError:
        raise CostlyPicture(TOO_LARGE) from None


def _block(channel: Channel, header: dict[str, Any], block: mmap.mmap) -> mmap.mmap:
    """Return the memory for the views of a request: that of the last one, or a new one whose file follows."""
    if header[BLOCK] is None:
        return block
    block.close()
    with os.fdopen(channel.receive_file(), "rb") as file:
        return mmap.mmap(file.fileno(), header[BLOCK])


def _answer_video(channel: Channel, header: dict[str, Any]) -> None:
    """Send the frames of a video one by one, so that no more than one is held."""
    request = read_video_request(header)
    with os.fdopen(channel.receive_file(), "rb") as file:
        file.seek(0)  # the parent has read it
        try:
            for reply in decode_frames(file, request, seconds=header["seconds"]):
                channel.send(*reply_message(reply))
        except MemoryError:
            channel.send(broken_message(CostlyPicture(TOO_LARGE)))
        except ConnectionError:
            raise
        except Exception as error:  # libraries raise nearly anything on a damaged file
            channel.send(broken_message(broken_picture(error)))


def _use_one_thread(formats: list[str]) -> None:
    """Decode in one thread: there is a process per core, and each thread would need memory of its own."""
    for format, module, option in (
        ("AVIF", "PIL.AvifImagePlugin", "DEFAULT_MAX_THREADS"),
        ("HEIF", "pillow_heif.options", "DECODE_THREADS"),
    ):
        if format in formats:
            setattr(importlib.import_module(module), option, 1)


def _limit(memory: int) -> None:
    """Limit what a hostile picture can use; it can write no file."""
    if resource is None:
        return
    os.nice(NICENESS)
    limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": OPEN_FILES}
    with contextlib.suppress(OSError, ValueError), open(MEMORY_NOW, encoding="ascii") as file:
        limits["RLIMIT_AS"] = int(file.read().split()[0]) * resource.getpagesize() + memory
    for name, value in limits.items():
        with contextlib.suppress(OSError, ValueError):  # a system may not have it, or have a lower one
            resource.setrlimit(getattr(resource, name), (value, value))


def _limit_processor_time(seconds: float) -> None:
    """End this process by a signal if the next picture takes too long and the parent is gone."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = used.ru_utime + used.ru_stime + (os.cpu_count() or 1) * (seconds + 1)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most), resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
