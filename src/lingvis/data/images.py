"""A picture of a dataset, opened: any format that Pillow reads by itself."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image, ImageOps

THUMBNAIL = 200  # pixels


def open_image(path: Path) -> Image.Image:
    """A picture whose pixels are not read yet; OSError for EPS, for which Pillow would start another program."""
    image = Image.open(path)
    if image.format == "EPS":
        image.close()
        raise OSError("it is an EPS file; turn it into a JPEG or PNG")
    return image


def small_picture(path: Path) -> str | None:
    """A thumbnail as a data URI for a page that needs no other file; None where there is no picture to read."""
    try:
        with open_image(path) as opened:
            opened.draft("RGB", (THUMBNAIL, THUMBNAIL))
            small = ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    data = io.BytesIO()
    small.save(data, format="JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode('ascii')}"
