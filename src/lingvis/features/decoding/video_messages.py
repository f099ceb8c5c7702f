"""Messages about videos between a process and its decoder process: a reply per frame, and one at the end."""

from __future__ import annotations

import math
from typing import Any

from lingvis.data.picture_limits import PictureLimitError
from lingvis.data.video.sampling import Sampling
from lingvis.features.decoding.messages import (
    MessageError,
    camera_facts,
    camera_fields,
    content_message,
    raise_broken,
    read_content,
    read_request,
    request_header,
)
from lingvis.features.decoding.video import FrameContent, VideoFacts, VideoRequest

VIDEO = "video"  # in the header of a request


def video_header(request: VideoRequest, seconds: float) -> dict[str, Any]:
    """Return a request as JSON; the file follows it."""
    how = {"every": request.sampling.every, "most": request.sampling.most}
    return request_header(request.frame, seconds) | {VIDEO: how}


def read_video_request(header: dict[str, Any]) -> VideoRequest:
    """Return the request of a header."""
    return VideoRequest(read_request(header), Sampling(**header[VIDEO]))


def reply_message(reply: FrameContent | VideoFacts) -> tuple[dict[str, Any], list[Any]]:
    """Return header and bytes for a frame, or for the end of a video."""
    if isinstance(reply, VideoFacts):
        return {"format": reply.format, "duration": reply.duration, **camera_fields(reply.camera)}, []
    header, data = content_message(reply.picture)
    return header | {"second": reply.second}, data


def read_reply(
    request: VideoRequest, header: dict[str, Any], data: bytearray, *, after: float
) -> FrameContent | VideoFacts:
    """Return a frame or the end of a video; raises BrokenPicture, and MessageError for an impossible reply.

    after: the second of the frame before.
    """
    raise_broken(header)
    if "second" in header:
        second = header["second"]
        if not isinstance(second, int | float) or not (after <= second < math.inf):
            raise MessageError(f"second {second!r}")
        return FrameContent(float(second), read_content(request.frame, header, data))
    try:
        return VideoFacts(header["format"], header["duration"], camera_facts(header))
    except (KeyError, TypeError, ValueError, AttributeError, PictureLimitError) as error:
        raise MessageError(str(error)) from error
