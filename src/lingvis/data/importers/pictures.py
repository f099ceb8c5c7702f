"""Find the pictures of an import and put them into the dataset, as hard links if possible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lingvis.data.importers.source import LinkGuard
from lingvis.errors import UserError
from lingvis.files import open_real_file

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
NAMED_IN_ERRORS = 3


def list_pictures(folder: Path) -> list[Path]:
    """All pictures below a folder, recognised by their suffix, sorted by name."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def find_pictures(
    names: Iterable[str], folder: Path, *, given: bool, follow_links: bool = False
) -> dict[str, Path]:
    """Name -> real path of the picture file; raises for links that lead out of the folder, unless `follow_links`.

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
    guard = LinkGuard(folder, follow_links=follow_links)
    return {name: guard.real(file) for name, file in files.items()}


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
    """Hard-link the file at a real path, or copy it where links are impossible (another disk, another owner)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_real_file(file) as opened:
        try:
            os.link(file, target)
            if os.path.samestat(os.fstat(opened.fileno()), os.lstat(target)):
                return
            target.unlink()  # something else has taken the place of the file
        except OSError:
            target.unlink(missing_ok=True)
        with target.open("wb") as out:
            shutil.copyfileobj(opened, out)


def place_tree(source: Path, target: Path) -> None:
    """Place a file, or everything below a folder; symbolic links stay links."""
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for entry in source.iterdir():
            place_tree(entry, target / entry.name)
    elif source.is_file():
        place_file(source.resolve(), target)
