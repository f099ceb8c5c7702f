"""The files that an import reads: decoded strictly, and counted in a checksum that detects changes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.rows import LANGUAGE_CODE, Split
from lingvis.errors import UserError, choices
from lingvis.files import open_real_file
from lingvis.printing import printable
from lingvis.untrusted import parse_json, unpack

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "training": "train",
    "restval": "train",  # Karpathy's name for the COCO validation pictures that joined training
    "val": "val",
    "dev": "val",
    "valid": "val",
    "validate": "val",
    "validation": "val",
    "test": "test",
    "testall": "test",
}
LANGUAGE_ALIASES = {"jp": "ja", "kr": "ko"}
_SPLIT_WORD = re.compile(rf"(?<![a-z])({'|'.join(SPLIT_NAMES)})(?![a-z])")


class Source:
    """A file or folder to import; every file read through it counts in `checksum`.

    Links out of its folder are followed only with `follow_links`; the path itself may be a link.
    """

    def __init__(self, path: Path, *, follow_links: bool = False) -> None:
        if not path.exists():
            raise UserError(f"no file or folder at {path}; check the path of the source")
        self.path, self.follow_links = path, follow_links
        self.folder = path if path.is_dir() else path.parent
        self._digests: dict[str, str] = {}

    def files(self, *patterns: str) -> list[Path]:
        """Files of the source folder that match a pattern, also with .gz; or the source itself if it is a file."""
        if self.path.is_file():
            return [self.path]
        matches = {
            file
            for pattern in patterns
            for ending in ("", ".gz")
            for file in self.path.glob(pattern + ending)
        }
        return sorted(file for file in matches if file.is_file())

    def one_file(self, *patterns: str) -> Path:
        """The only file that matches a pattern; raises if there is none or more than one."""
        files = self.files(*patterns)
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise UserError(
                f"{self.path} should hold one file like {' or '.join(patterns)}, got {names}; name the file itself"
            )
        return files[0]

    def text(self, file: Path) -> str:
        """A UTF-8 text, with or without a byte order mark, plain or compressed."""
        try:
            with self.open(file) as opened:
                raw = unpack(file, opened)
        except (OSError, ValueError) as error:
            raise UserError(f"{file} cannot be read: {error}; it may be cut off") from error
        self._remember(file, hashlib.sha256(raw).hexdigest())
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise UserError(f"{file} is not UTF-8 at line {line}; save it as UTF-8") from error

    def lines(self, file: Path) -> list[str]:
        """Lines of a text, including blank lines, because other files are aligned with them.

        Only line feeds end a line: str.splitlines would also cut at U+2028 or U+0085 inside a caption.
        """
        lines = self.text(file).split("\n")
        if lines[-1] == "":
            lines.pop()
        return [line.strip() for line in lines]

    def json(self, file: Path) -> Any:
        """A JSON value."""
        text = self.text(file)
        try:
            return parse_json(text)
        except ValueError as error:
            raise UserError(f"{file} is not JSON: {error}; check that it is the right file") from error

    def array(self, file: Path) -> NDArray[Any]:
        """A memory-mapped .npy array."""
        try:
            array: NDArray[Any] = np.lib.format.open_memmap(self._real(file), mode="r")
            self.remember(file)
        except UserError:
            raise
        except Exception as error:  # numpy evaluates the header, so a damaged one can raise nearly anything
            raise UserError(f"{file} is not a complete .npy array of numbers: {error}") from error
        return array

    def remember(self, file: Path) -> None:
        """Add a file to the checksum that is read by other means."""
        with self.open(file) as opened:
            self._remember(file, hashlib.file_digest(opened, "sha256").hexdigest())

    def open(self, file: Path) -> io.BufferedReader:
        """Open a file of the source for reading."""
        return open_real_file(self._real(file))

    def _real(self, file: Path) -> Path:
        """The real path of a file; some formats keep a list of pictures beside or above the source."""
        folder = Path(os.path.commonpath([self.folder.absolute(), file.absolute()]))
        return LinkGuard(folder, follow_links=self.follow_links or file == self.path).real(file)

    def _remember(self, file: Path, digest: str) -> None:
        self._digests[
            file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else file.name
        ] = digest

    @property
    def checksum(self) -> str:
        """SHA-256 over all files read so far."""
        return hashlib.sha256(json.dumps(sorted(self._digests.items())).encode()).hexdigest()


class LinkGuard:
    """The real paths of files below a folder; a link that leads out of it is an error, unless `follow_links`."""

    def __init__(self, folder: Path, *, follow_links: bool) -> None:
        self.folder, self.follow_links = folder, follow_links
        self._real_folder = cache(os.path.realpath)  # most files share their folder
        self._inside = os.path.join(os.path.realpath(folder), "")

    def real(self, file: Path) -> Path:
        """The real path of a file."""
        parent = self._real_folder(file.parent)
        real = os.path.realpath(file) if file.is_symlink() else os.path.join(parent, file.name)
        if not (self.follow_links or real.startswith(self._inside)):
            raise UserError(
                f"{file} is behind a link that leads out of {self.folder}; put the file itself there, or set "
                "follow_links to import what links point to"
            )
        return Path(real)


def bare_name(file: Path) -> str:
    """The file's name without .gz."""
    return file.name.removesuffix(".gz")


def plain_text(value: object, what: str, where: str) -> str:
    """`value` if it is text that can be stored as UTF-8; raises otherwise: JSON and file names may hold anything."""
    if not isinstance(value, str):
        raise UserError(
            f"{where}: the {what} should be text, got {type(value).__name__}; fix it in the source"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UserError(
            printable(f"{where}: the {what} {value[:40]!r} cannot be written as UTF-8; fix it in the source")
        ) from None
    return value


def split_name(text: object, where: str) -> Split:
    """A split as sources spell it (dev, validation, restval, ...) -> train, val or test."""
    split = SPLIT_NAMES.get(plain_text(text, "split", where).strip().lower())
    if split is None:
        raise UserError(f"{where}: unknown split {text!r}; allowed: {choices(SPLIT_NAMES)}")
    return split


def split_within(text: str) -> Split | None:
    """The split that a file name contains (captions_train2014.json); None if it contains none or several."""
    splits = {SPLIT_NAMES[word] for word in _SPLIT_WORD.findall(text.lower())}
    return splits.pop() if len(splits) == 1 else None


def language_code(text: str, where: str) -> str:
    """A language as sources spell it (pt_br, jp, EN) -> BCP-47; raises for anything else."""
    code = parse_language(text)
    if code is None:
        raise UserError(f"{where}: bad language code {text!r}, use BCP-47 such as en, pt-BR or zh-Hant")
    return code


@lru_cache(maxsize=256)
def parse_language(text: str) -> str | None:
    """A language as sources spell it -> BCP-47, or None if it is not a language code."""
    first, *rest = text.strip().replace("_", "-").lower().split("-")
    parts = [LANGUAGE_ALIASES.get(first, first)]
    parts += [part.title() if len(part) == 4 else part.upper() if len(part) < 4 else part for part in rest]
    code = "-".join(parts)
    return code if LANGUAGE_CODE.fullmatch(code) else None
