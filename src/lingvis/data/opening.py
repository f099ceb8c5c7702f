"""A picture of a dataset, opened: any format that Pillow reads by itself."""

from __future__ import annotations

from pathlib import Path

from PIL import Image


def open_image(path: Path) -> Image.Image:
    """A picture whose pixels are not read yet; OSError for EPS, for which Pillow would start another program."""
    image = Image.open(path)
    if image.format == "EPS":
        image.close()
        raise OSError("it is an EPS file; turn it into a JPEG or PNG")
    return image
