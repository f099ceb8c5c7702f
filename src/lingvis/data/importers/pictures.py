"""Finding the pictures of an import and putting them into the dataset without a second copy where possible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lingvis.errors import UserError

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
NAMED_IN_ERRORS = 3


def list_pictures(folder: Path) -> list[Path]:
    """Every picture below a folder, by its suffix, in the order of names."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def find_pictures(names: Iterable[str], folder: Path, *, given: bool) -> dict[str, Path]:
    """Picture file of each name.

    A name is a path below `folder` or `folder`/images; below a folder that the user has given a file of that
    name in any subfolder counts too, as long as there is only one.
    """
    if not folder.is_dir():
        raise UserError(f"no folder of pictures at {folder}; name it with --images")
    found: dict[str, Path] = {}
    missing: list[str] = []
    for name in names:
        place = next((path for path in (folder / name, folder / "images" / name) if path.is_file()), None)
        if place is None:
            missing.append(name)
        else:
            found[name] = place
    if missing and given:
        found |= _anywhere_below(folder, missing)
        missing = [name for name in missing if name not in found]
    if missing:
        shown = ", ".join(missing[:NAMED_IN_ERRORS]) + (", ..." if len(missing) > NAMED_IN_ERRORS else "")
        advice = (
            "add them or take their captions out" if given else "name the folder of pictures with --images"
        )
        raise UserError(
            f"{len(missing)} of {len(missing) + len(found)} pictures are not below {folder} ({shown}); {advice}"
        )
    return found


def _anywhere_below(folder: Path, names: list[str]) -> dict[str, Path]:
    places: dict[str, list[Path]] = {}
    for file in list_pictures(folder):
        places.setdefault(file.name, []).append(file)
    found: dict[str, Path] = {}
    for name in names:
        fits = places.get(name.rsplit("/", 1)[-1], [])
        if len(fits) > 1:
            both = " and ".join(fit.relative_to(folder).as_posix() for fit in fits[:2])
            raise UserError(f"picture {name} stands below {folder} as {both}; keep one of them")
        if fits:
            found[name] = fits[0]
    return found


def place_file(file: Path, target: Path) -> None:
    """Hard-link a file, or copy it where links cannot be (another disk, another owner)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    file = file.resolve()  # a hard link to a symbolic link would dangle when the folder moves
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def place_tree(folder: Path, target: Path) -> None:
    """place_file for everything below a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.rglob("*"):
        if file.is_dir():
            (target / file.relative_to(folder)).mkdir(parents=True, exist_ok=True)
        elif file.is_file():
            place_file(file, target / file.relative_to(folder))
