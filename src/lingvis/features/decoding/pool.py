"""Decoder processes for several threads."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import BinaryIO, TypeVar

from lingvis.data.picture_limits import FILE_BYTES
from lingvis.features.decoding.content import DecodeRequest, PictureContent
from lingvis.features.decoding.files import decode_each
from lingvis.features.decoding.process import DecoderEnded, DecoderProcess
from lingvis.features.decoding.shared import NoSharedMemoryError, Wanted, fit_block
from lingvis.features.decoding.video import VideoContent, VideoRequest
from lingvis.features.pictures import BrokenPicture, CostlyPicture

SECONDS = 20.0  # a JPEG of 100 megapixels takes one
VIDEO_SECONDS = 300.0  # an hour of 1080p takes about one minute
Content = TypeVar("Content")


class DecoderPool:
    """Decodes pictures in processes of its own, one per thread that uses it at the same time.

    seconds, video_seconds: after which a picture or a video is abandoned; file_bytes: of the largest picture file.
    Processes are started when they are needed, and end with `close`, with the pool, or with this process, however it ends.
    """

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        video_seconds: float = VIDEO_SECONDS,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self._seconds, self._video_seconds, self._file_bytes = seconds, video_seconds, file_bytes
        self._lock = threading.Lock()
        self._idle: list[DecoderProcess] = []
        self._busy: set[DecoderProcess] = set()
        self._closed, self._shares = False, True
        self._finalizer = weakref.finalize(self, _end, self._idle, self._busy)

    def decode(self, data: bytes, request: DecodeRequest) -> PictureContent:
        """Decode the bytes of a file; raises BrokenPicture.

        If the process ends meanwhile, another one tries the picture once more.
        """
        seconds = self._seconds
        return self._run(lambda process: process.decode(data, request, seconds=seconds), seconds)

    def decode_files(self, files: Sequence[Wanted]) -> list[PictureContent | BrokenPicture]:
        """Read and decode some files, together if it goes well; returns the reason for each that cannot be used."""
        if self._shares and fit_block(files):
            try:
                return self._attempt(lambda process: process.decode_files(files, seconds=self._seconds))
            except NoSharedMemoryError:
                self._shares = False
            except (TimeoutError, DecoderEnded):
                pass
        # One of them is costly, or ended the process: then each has all the time, and its own reason.
        return decode_each(files, self.decode)

    def decode_video(self, file: BinaryIO, request: VideoRequest) -> VideoContent:
        """Decode frames of an open file, as `decode` does a picture."""
        seconds = self._video_seconds
        return self._run(lambda process: process.decode_video(file, request, seconds=seconds), seconds)

    def _run(self, decode: Callable[[DecoderProcess], Content], seconds: float) -> Content:
        for _ in range(2):
            try:
                return self._attempt(decode)
            except TimeoutError as error:
                raise CostlyPicture(
                    f"decoding took longer than {seconds:g} seconds; make it smaller or save it again"
                ) from error
            except DecoderEnded:
                continue
        raise BrokenPicture("the process that decoded it ended twice; save it again with another program")

    def _attempt(self, decode: Callable[[DecoderProcess], Content]) -> Content:
        """Call `decode` with a process, which stays usable if it returns a result or a reason."""
        process = self._take()
        usable = False
        try:
            content = decode(process)
            usable = True
            return content
        except BrokenPicture:
            usable = True
            raise
        finally:
            self._release(process, usable=usable)

    def close(self) -> None:
        """End all processes; pictures that are being decoded are abandoned."""
        with self._lock:
            self._closed = True
            self._finalizer()

    def __enter__(self) -> DecoderPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self) -> DecoderProcess:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    self._busy.add(process)
                    return process
                process.close()
        if not self._closed:
            process = DecoderProcess(file_bytes=self._file_bytes)
            with self._lock:
                if not self._closed:
                    self._busy.add(process)
                    return process
            process.close()
        raise BrokenPicture("decoding was stopped")

    def _release(self, process: DecoderProcess, *, usable: bool) -> None:
        with self._lock:
            self._busy.discard(process)
            if usable and not self._closed:
                self._idle.append(process)
                return
        process.close()


def _end(idle: list[DecoderProcess], busy: set[DecoderProcess]) -> None:
    for process in busy:
        process.kill()
    while idle:
        idle.pop().close()
