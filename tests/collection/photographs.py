"""Some of the photographs that come with lingvis, for the shipped model; none shows an elephant."""

from __future__ import annotations

import shutil
from pathlib import Path

from lingvis.demo.photographs import SHIPPED

NAMES = [
    "airplane-flies-white",
    "beagle-puppy-green",
    "black-white-cow",
    "blue-bicycle-stands",
    "bowl-green-curry",
    "bright-green-forest",
    "grey-cat-orange",
    "lion-thick-mane",
    "old-film-camera",
    "pointed-snowy-mountain",
    "red-city-bus",
    "rocket-lifts-off",
]


def copy_photographs(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in NAMES:
        shutil.copyfile(SHIPPED / f"{name}.jpg", folder / f"{name}.jpg")
    return folder
