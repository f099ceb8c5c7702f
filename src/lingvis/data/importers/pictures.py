"""Find the pictures of an import and put them into the dataset, as hard links if possible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from lingvis.data.importers.source import LinkGuard
from lingvis.data.video.formats import ALL_SUFFIXES
from lingvis.errors import UserError
from lingvis.files import open_real_file

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
NAMED_SUFFIXES = SUFFIXES | ALL_SUFFIXES
NAMED_IN_ERRORS = 3


def list_pictures(folder: Path) -> list[Path]:
    """All pictures below a folder, recognised by their suffix, sorted by name."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def find_pictures(
    places: Mapping[str, str], folder: Path, *, given: bool, follow_links: bool = False
) -> tuple[dict[str, Path], list[str]]:
    """Name -> real path of the picture file, and all problems: missing pictures, and links that lead out of the folder.

    places: the names, and where each comes from. A name is a path below `folder` or `folder`/images. If the user named
    the folder (`given`), a file of that name in any subfolder counts too, as long as there is only one.
    """
    if not folder.is_dir():
        return {}, [f"no folder of pictures at {folder}; set images to the folder of the pictures"]
    files: dict[str, Path] = {}
    missing: list[str] = []
    problems: list[str] = []
    for name in places:
        place = next((path for path in (folder / name, folder / "images" / name) if path.is_file()), None)
        if place is None:
            missing.append(name)
        else:
            files[name] = place
    if missing and given:
        elsewhere, problems = _anywhere_below(folder, missing)
        files |= elsewhere
        missing = [name for name in missing if name not in elsewhere]
    problems += _missing(missing, places, folder, given=given)
    guard = LinkGuard(folder, follow_links=follow_links)
    real: dict[str, Path] = {}
    for name, file in files.items():
        try:
            real[name] = guard.real(file)
        except UserError as error:
            problems.append(str(error))
    return real, problems


def _missing(missing: list[str], places: Mapping[str, str], folder: Path, *, given: bool) -> list[str]:
    """A problem per missing picture; one for all if none is there, since then the folder is wrong."""
    advice = "add it or remove its captions" if given else "set images to the folder of the pictures"
    if len(missing) < len(places):
        return [f"{places[name]}: picture {name} is not below {folder}; {advice}" for name in missing]
    shown = ", ".join(missing[:NAMED_IN_ERRORS]) + (", ..." if len(missing) > NAMED_IN_ERRORS else "")
    advice = "name the right folder in images" if given else advice
    return [f"none of the {len(missing)} pictures is below {folder} ({shown}); {advice}"] if missing else []


def _anywhere_below(folder: Path, names: list[str]) -> tuple[dict[str, Path], list[str]]:
    """The only file of each name in any subfolder, and a problem per name with several; they count as found."""
    named: dict[str, list[Path]] = {}
    for file in sorted(file for file in folder.rglob("*") if file.suffix.lower() in NAMED_SUFFIXES):
        named.setdefault(file.name, []).append(file)
    files: dict[str, Path] = {}
    problems: list[str] = []
    for name in names:
        candidates = named.get(name.rsplit("/", 1)[-1], [])
        if len(candidates) > 1:
            both = " and ".join(file.relative_to(folder).as_posix() for file in candidates[:2])
            problems.append(f"picture {name} is below {folder} as {both}; keep one of them")
        if candidates:
            files[name] = candidates[0]
    return files, problems


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
