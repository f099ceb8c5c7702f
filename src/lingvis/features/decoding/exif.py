"""Facts that cameras write into a file: when, with which camera and where it was taken."""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from PIL import Image

EXIF_IFD, GPS_IFD = 0x8769, 0x8825
TAKEN, CHANGED, MAKER, MODEL = 0x9003, 0x0132, 0x010F, 0x0110
DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
LATITUDE, LONGITUDE = (
    (1, 2, "S", 90),
    (3, 4, "W", 180),
)  # tags of sign and value, the negative sign, the largest value
CAMERA_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class CameraFacts:
    """taken: local time; camera: maker and model; latitude, longitude: degrees, both or neither."""

    taken: datetime | None = None
    camera: str | None = None
    latitude: float | None = None
    longitude: float | None = None


def read_facts(image: Image.Image) -> CameraFacts:
    """Return the facts of an opened picture; a missing or impossible one is None."""
    exif = image.getexif()
    gps = exif.get_ifd(GPS_IFD)
    latitude, longitude = _degrees(gps, *LATITUDE), _degrees(gps, *LONGITUDE)
    if (
        latitude is None or longitude is None or (latitude, longitude) == (0, 0)
    ):  # cameras without a fix write zeros
        latitude = longitude = None
    taken = _date(exif.get_ifd(EXIF_IFD).get(TAKEN)) or _date(exif.get(CHANGED))
    return CameraFacts(taken, camera_name(exif.get(MAKER), exif.get(MODEL)), latitude, longitude)


def camera_name(maker: Any, model: Any) -> str | None:
    """Return maker and model as people write them; many models begin with the maker already."""
    maker, model = _words(maker), _words(model)
    if maker and model.lower().startswith(maker.split()[0].lower()):
        maker = ""
    return f"{maker} {model}".strip()[:CAMERA_CHARACTERS] or None


def _words(value: Any) -> str:
    """Return the printable characters of a text, without the zeros that fill a field."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(c for c in text if c.isprintable()).split())


def _date(value: Any) -> datetime | None:
    if isinstance(value, str) and (match := DATE.match(value)):
        with contextlib.suppress(ValueError):  # cameras without a clock write 0000:00:00
            return datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    return None


def _degrees(gps: dict[int, Any], sign_tag: int, tag: int, negative: str, largest: int) -> float | None:
    """Return degrees from degrees, minutes and seconds; None if they are missing or impossible."""
    try:
        parts = [float(part) for part in gps[tag]]
        value = float(sum(part / 60.0**place for place, part in enumerate(parts[:3])))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    if not math.isfinite(value) or not 0 <= value <= largest:
        return None
    return round(-value if str(gps.get(sign_tag, "")).upper().startswith(negative) else value, 6)
