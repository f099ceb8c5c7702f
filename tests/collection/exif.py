"""What cameras write into files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL import Image

Place = tuple[Sequence[float], str, Sequence[float], str]


def exif_of(
    *, taken: str | None = None, camera: tuple[str, str] | None = None, place: Place | None = None
) -> Image.Exif:
    """taken: such as 2024:05:01 18:30:00; camera: maker and model; place: degrees, minutes, seconds and a letter."""
    exif = Image.Exif()
    main: dict[int, Any] = {}
    if camera is not None:
        main |= {0x010F: camera[0], 0x0110: camera[1]}
    if taken is not None:
        main[0x8769] = {0x9003: taken}
    if place is not None:
        main[0x8825] = {
            1: place[1],
            2: tuple(map(float, place[0])),
            3: place[3],
            4: tuple(map(float, place[2])),
        }
    exif.update(main)
    return exif
