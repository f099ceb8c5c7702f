"""Find the pictures of an import and put them into the dataset, as hard links if possible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lingvis.errors import UserError

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
NAMED_IN_ERRORS = 3


def list_pictures(folder: Path) -> list[Path]:
    """All pictures below a folder, recognised by their suffix, sorted by name."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def find_pictures(names: Iterable[str], folder: Path, *, given: bool) -> dict[str, Path]:
    """Name -> picture file.

    A name is a path below `folder` or `folder`/images. If the user named the folder (`given`), a file of that name
    in any subfolder counts too, as long as there is only one.
    """
    if not folder.is_dir():
        raise UserError(f"no folder of pictures at {folder}; set images to the folder of the pictures")
    files: dict[str, Path] = {}
    missing: list[str] = []
    for name in names:
        place = next((path for path in (folder / name, folder / "images" / name) if path.is_file()), None)
        if place is None:
            missing.append(name)
        else:
            files[name] = place
    if missing and given:
        files |= _anywhere_below(folder, missing)
        missing = [name for name in missing if name not in files]
    if missing:
        shown = ", ".join(missing[:NAMED_IN_ERRORS]) + (", ..." if len(missing) > NAMED_IN_ERRORS else "")
        advice = "add them or remove their captions" if given else "set images to the folder of the pictures"
        raise UserError(
            f"{len(missing)} of {len(missing) + len(files)} pictures are not below {folder} ({shown}); {advice}"
        )
    return files


def _anywhere_below(folder: Path, names: list[str]) -> dict[str, Path]:
    places: dict[str, list[Path]] = {}
    for file in list_pictures(folder):
        places.setdefault(file.name, []).append(file)
    files: dict[str, Path] = {}
    for name in names:
        candidates = places.get(name.rsplit("/", 1)[-1], [])
        if len(candidates) > 1:
            both = " and ".join(file.relative_to(folder).as_posix() for file in candidates[:2])
            raise UserError(f"picture {name} is below {folder} as {both}; keep one of them")
        if candidates:
            files[name] = candidates[0]
    return files


def place_file(file: Path, target: Path) -> None:
    """Hard-link a file, or copy it where links are impossible (another disk, another owner)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    file = file.resolve()  # a hard link to a symbolic link would dangle when the folder moves
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def place_tree(folder: Path, target: Path) -> None:
    """Apply `place_file` to everything below a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.rglob("*"):
        if file.is_dir():
            (target / file.relative_to(folder)).mkdir(parents=True, exist_ok=True)
        elif file.is_file():
            place_file(file, target / file.relative_to(folder))
