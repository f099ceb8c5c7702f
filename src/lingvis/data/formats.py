"""Which kinds of pictures are opened, whoever made the file and whatever its name promises."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import BinaryIO

from PIL import Image

HEIC = {".heic", ".heif"} if importlib.util.find_spec("pillow_heif") else set()
# Pillow knows many more, one of them by starting another program. JPEG includes several pictures in one file (MPO).
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF")


def open_picture(file: BinaryIO) -> Image.Image:
    """A picture whose pixels are not read yet; UnidentifiedImageError for what is none of these formats."""
    return Image.open(file, formats=_readable())


def allow_heic() -> None:
    """Let Pillow open HEIC files where pillow-heif is installed."""
    if HEIC:
        importlib.import_module("pillow_heif").register_heif_opener()


@functools.cache
def _readable() -> list[str]:
    allow_heic()
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]
