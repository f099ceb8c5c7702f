"""A video file, read for its moments: each has pixels for the backbone, a thumbnail, and facts for display."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.pictures import (
    THUMBNAIL,
    DecodedFile,
    DuplicateContent,
    PictureFacts,
    UnreadPicture,
)
from lingvis.data.video.limits import check_size
from lingvis.features.decoding.content import DecodeRequest, ViewRequest
from lingvis.features.decoding.video import DecodeVideo, FrameContent, VideoFacts, VideoRequest
from lingvis.features.pictures import BrokenPicture, broken_picture
from lingvis.features.preprocessing import Preprocessing
from lingvis.files import open_real_file


@dataclass(frozen=True, slots=True)
class DecodedVideo:
    """The moments of a video, at least one."""

    moments: list[DecodedFile]


def read_video(
    file: ScannedFile, preprocessing: Preprocessing, seen: Callable[[str], bool], decode: DecodeVideo
) -> DecodedVideo | DuplicateContent | BrokenPicture:
    """Read and decode a video, unless `seen` contains its hash; returns the reason for an unusable file."""
    request = VideoRequest(DecodeRequest(views=ViewRequest(preprocessing), jpeg=THUMBNAIL))
    try:
        check_size(file.size)
        with open_real_file(file.path) as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            if seen(digest):
                return DuplicateContent(digest)
            content = decode(opened, request)
    except BrokenPicture as broken:
        return broken
    except ValueError as error:
        return broken_picture(error)
    except OSError as error:
        return UnreadPicture(error.strerror or str(error))
    return DecodedVideo([_moment(digest, content.facts, frame) for frame in content.frames])


def _moment(digest: str, video: VideoFacts, frame: FrameContent) -> DecodedFile:
    picture = frame.picture
    assert (
        picture.views is not None and picture.jpeg is not None and picture.signature is not None
    )  # requested
    facts = PictureFacts(
        digest,
        picture.width,
        picture.height,
        video.format,
        video.camera,
        picture.jpeg,
        picture.signature,
        frame.second,
        video.duration,
    )
    return DecodedFile(facts, picture.views)
