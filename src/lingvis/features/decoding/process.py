"""One decoder process, seen from its parent."""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import lingvis
from lingvis.data.picture_limits import DECODED_BYTES
from lingvis.errors import UserError
from lingvis.features.decoding.content import DecodeRequest, PictureContent
from lingvis.features.decoding.messages import (
    Channel,
    MessageError,
    read_content,
    reply_limit,
    request_header,
)
from lingvis.features.decoding.shared import Wanted, block_bytes, files_header, new_block, read_replies
from lingvis.features.decoding.video import FrameContent, VideoContent, VideoFacts, VideoRequest
from lingvis.features.decoding.video_messages import read_reply, video_header
from lingvis.features.pictures import BrokenPicture

PROGRAM = "lingvis.features.decoding.child"
START_SECONDS = 60.0
MEMORY = 2**28  # bytes of a process beyond the file and the picture: libraries, threads, views


class DecoderEnded(Exception):
    """The process ended, or sent something else than a reply; the message says how."""


class DecoderProcess:
    """Starts a process that decodes one picture at a time; it ends when this object or this process does.

    file_bytes: of the largest file.
    """

    def __init__(self, *, file_bytes: int) -> None:
        here, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                # -P: a module of the same name in the working folder must not be imported.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    PROGRAM,
                    str(file_bytes),
                    str(file_bytes + DECODED_BYTES + MEMORY),
                ],
                stdin=there.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # libraries for pictures quote files in their messages
                env=_environment(),
                process_group=0,  # Ctrl-C reaches the parent only
            )
        self._channel = Channel(here)
        self._block: mmap.mmap | None = None
        try:
            self._channel.receive(limit=0, deadline=time.monotonic() + START_SECONDS)
        except (EOFError, OSError, MessageError) as error:
            raise UserError(
                f"a process for decoding pictures could not be started ({self.close()}); to see why, run: "
                f"{sys.executable} -m {PROGRAM} 0 0"
            ) from error

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def decode(self, data: bytes, request: DecodeRequest, *, seconds: float) -> PictureContent:
        """Decode a picture; raises BrokenPicture, TimeoutError after `seconds`, and DecoderEnded.

        After the last two, the process must be closed.
        """
        deadline = time.monotonic() + seconds
        try:
            self._channel.send(request_header(request, seconds), [data], deadline=deadline)
            header, parts = self._channel.receive(limit=reply_limit(request), deadline=deadline)
            return read_content(request, header, parts)
        except TimeoutError:
            raise
        except (EOFError, OSError, MessageError) as error:
            raise DecoderEnded(str(error) or type(error).__name__) from error

    def decode_files(
        self, files: Sequence[Wanted], *, seconds: float
    ) -> list[PictureContent | BrokenPicture]:
        """Read and decode files together, `seconds` for all; raises TimeoutError and DecoderEnded, as `decode` does."""
        deadline = time.monotonic() + seconds
        try:
            block = self._share(files, seconds, deadline)
            header, _ = self._channel.receive(limit=0, deadline=deadline)
            return read_replies(files, header, block)
        except TimeoutError:
            raise
        except (EOFError, OSError, MessageError) as error:
            raise DecoderEnded(str(error) or type(error).__name__) from error

    def _share(self, files: Sequence[Wanted], seconds: float, deadline: float) -> mmap.mmap:
        """Send a request for files; returns the memory for the reply."""
        needed = block_bytes(files)
        if self._block is not None and len(self._block) >= needed:
            self._channel.send(files_header(files, seconds, block=None), deadline=deadline)
            return self._block
        handle, self._block = new_block(needed)
        try:
            self._channel.send(files_header(files, seconds, block=needed), deadline=deadline)
            self._channel.send_file(handle, deadline=deadline)
        finally:
            os.close(handle)
        return self._block

    def decode_video(self, file: BinaryIO, request: VideoRequest, *, seconds: float) -> VideoContent:
        """Decode frames of an open file; raises the same."""
        deadline, frames = time.monotonic() + seconds, list[FrameContent]()
        try:
            self._channel.send(video_header(request, seconds), deadline=deadline)
            self._channel.send_file(file.fileno(), deadline=deadline)
            while True:
                header, data = self._channel.receive(limit=reply_limit(request.frame), deadline=deadline)
                after = frames[-1].second if frames else 0.0
                reply = read_reply(request, header, data, after=after)
                if isinstance(reply, VideoFacts):
                    if not frames:
                        raise MessageError("a video without frames")
                    return VideoContent(reply, frames)
                if len(frames) == request.sampling.most:
                    raise MessageError("too many frames")
                frames.append(reply)
        except TimeoutError:
            raise
        except (EOFError, OSError, MessageError) as error:
            raise DecoderEnded(str(error) or type(error).__name__) from error

    def kill(self) -> None:
        """End the process; a thread that waits for it gets DecoderEnded."""
        self._process.kill()

    def close(self) -> str:
        """End the process, which no thread may be using; returns how it ended."""
        ended = self._process.poll()
        self._process.kill()
        self._process.wait()
        self._channel.close()
        return "it did not answer" if ended is None else f"status {ended}"


def _environment() -> dict[str, str]:
    """Return the environment of a process that finds the same packages and starts no threads for arithmetic.

    It holds no token, since the process decodes pictures of strangers.
    glibc would return the memory of every picture to the system, which takes as long as decoding a small one.
    """
    paths = [path for path in sys.path if path] + [str(Path(lingvis.__file__).parents[1])]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    memory = {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": str(2**22),
        "MALLOC_TRIM_THRESHOLD_": str(2**24),
    }
    open_values = {name: value for name, value in os.environ.items() if name != "LINGVIS_TOKEN"}
    return {**open_values, **threads, **memory, "PYTHONPATH": os.pathsep.join(paths)}
