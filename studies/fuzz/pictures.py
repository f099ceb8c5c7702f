"""Small valid pictures of every format, and damaged copies of them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import io
from typing import Any

import numpy as np
from PIL import Image

from studies.fuzz.mutate import case_random, mutate_bytes

KIND = "pictures"
SIZE = (48, 32)


@functools.cache
def originals() -> dict[str, bytes]:
    """A file per format and way of writing it; HEIC where its extra is installed."""
    noise = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    rgb = Image.fromarray(noise).resize(SIZE)
    deep = Image.fromarray(np.asarray(rgb.convert("L")).astype(np.uint16) * 257)
    exif = Image.Exif()
    exif[0x0112], exif[0x0132] = 6, "2024:05:01 10:20:30"
    frames: dict[str, Any] = {"save_all": True, "append_images": [rgb.rotate(180), rgb.rotate(90)]}
    pictures = {
        "jpeg": _save(rgb, "JPEG", exif=exif),
        "jpeg-progressive": _save(rgb, "JPEG", progressive=True),
        "jpeg-cmyk": _save(rgb.convert("CMYK"), "JPEG"),
        "jpeg-several": _save(rgb, "MPO", **frames),
        "png": _save(rgb, "PNG", exif=exif),
        "png-palette": _save(rgb.convert("P"), "PNG", transparency=0),
        "png-16-bit": _save(deep, "PNG"),
        "png-animated": _save(rgb, "PNG", **frames),
        "webp": _save(rgb, "WEBP", exif=exif),
        "webp-lossless": _save(rgb.convert("RGBA"), "WEBP", lossless=True),
        "webp-animated": _save(rgb, "WEBP", **frames),
        "gif": _save(rgb, "GIF"),
        "gif-animated": _save(rgb, "GIF", **frames),
        "bmp": _save(rgb, "BMP"),
        "bmp-palette": _save(rgb.convert("P"), "BMP"),
        "tiff": _save(rgb, "TIFF"),
        "tiff-lzw": _save(rgb, "TIFF", compression="tiff_lzw"),
        "tiff-deflate": _save(rgb, "TIFF", compression="tiff_adobe_deflate"),
        "tiff-jpeg": _save(rgb, "TIFF", compression="jpeg"),
        "tiff-16-bit": _save(deep, "TIFF"),
        "avif": _save(rgb, "AVIF"),
    }
    if importlib.util.find_spec("pillow_heif"):
        out = io.BytesIO()
        importlib.import_module("pillow_heif").from_pillow(rgb).save(out)
        pictures["heic"] = out.getvalue()
    return pictures


def picture_case(seed: int, number: int) -> tuple[str, bytes]:
    """The name of the original and a damaged copy; each original has its turn."""
    rng = case_random(KIND, seed, number)
    files = originals()
    name = list(files)[number % len(files)]
    return name, mutate_bytes(rng, files[name], list(files.values()))


def _save(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
