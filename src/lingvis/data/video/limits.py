"""How a file is opened as a video, and limits that are checked before and while it is decoded."""

from __future__ import annotations

from lingvis.data.picture_limits import PictureLimitError

# Only demuxers of ordinary files: playlists (HLS, DASH, concat) would open other files. No protocol is allowed at all,
# since FFmpeg reads through a file that is open already.
DEMUXERS = "mov,matroska,avi"
DECODERS = (
    "h264,hevc,vp8,vp9,av1,libdav1d,mpeg4,msmpeg4v1,msmpeg4v2,msmpeg4,mpeg1video,mpeg2video,h263,mjpeg,prores,"
    "dvvideo,wmv1,wmv2,vc1,theora,ffv1,rawvideo,libvpx,libvpx-vp9"
)
UNKNOWN_VIDEO = "the file is not a video of a known format; use MP4, MOV, WebM, MKV or AVI"
FILE_BYTES = 2**36
PIXELS = 36_000_000  # of a frame; 8K has 33 million
HOURS = 24.0


class BrokenVideo(ValueError):
    """A video that cannot be used; the message is the reason."""


def check_size(size: int) -> None:
    """Raise if a file is empty or too large."""
    if not size:
        raise BrokenVideo("the file is empty")
    if size > FILE_BYTES:
        raise PictureLimitError(f"the file has {size} bytes; at most {FILE_BYTES} are read")


def check_frame(width: int, height: int) -> None:
    """Raise if frames have too many pixels."""
    if width * height > PIXELS:
        raise PictureLimitError(
            f"its frames have {width * height:,} pixels; at most {PIXELS:,} are decoded, so make it smaller"
        )


def check_duration(seconds: float | None) -> None:
    """Raise if a video is too long."""
    if seconds is not None and seconds > HOURS * 3600:
        raise PictureLimitError(
            f"it lasts {seconds / 3600:.0f} hours; at most {HOURS:.0f} are read, so cut it into parts"
        )
