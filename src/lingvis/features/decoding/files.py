"""Decoding of several files: the interface, and the way without decoder processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, Protocol

from lingvis.data.picture_input import PictureInput
from lingvis.features.decoding.content import (
    Decode,
    DecodeRequest,
    PictureContent,
    decode_content,
    decode_file,
)
from lingvis.features.decoding.video import VideoContent, VideoRequest, decode_video_content
from lingvis.features.pictures import BrokenPicture


class Decoders(Protocol):
    """Decode pictures and videos, for several threads: `DecoderPool`, or `Here`."""

    def decode_files(
        self, files: Sequence[tuple[PictureInput, DecodeRequest]]
    ) -> list[PictureContent | BrokenPicture]:
        """Read and decode some pictures; returns the reason for each that cannot be used."""
        ...

    def decode_video(self, file: BinaryIO, request: VideoRequest) -> VideoContent:
        """Decode frames of an open file; raises BrokenPicture."""
        ...


class Here:
    """Decodes in this process, without limits on time and memory: for pictures that one trusts."""

    def decode_files(
        self, files: Sequence[tuple[PictureInput, DecodeRequest]]
    ) -> list[PictureContent | BrokenPicture]:
        """Read and decode the pictures one by one."""
        return decode_each(files, decode_content)

    def decode_video(self, file: BinaryIO, request: VideoRequest) -> VideoContent:
        """Decode frames of an open file; raises BrokenPicture."""
        return decode_video_content(file, request)


def decode_each(
    files: Sequence[tuple[PictureInput, DecodeRequest]], decode: Decode
) -> list[PictureContent | BrokenPicture]:
    """Read the pictures in this process and decode them one by one."""
    results: list[PictureContent | BrokenPicture] = []
    for picture, request in files:
        try:
            results.append(decode_file(picture, request, decode))
        except BrokenPicture as broken:
            results.append(broken)
    return results
