"""The files that an import reads: decoded strictly, and counted in a checksum that detects changes."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.rows import LANGUAGE_CODE, Split
from lingvis.errors import UserError, choices
from lingvis.untrusted import parse_json, unpack

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "restval": "train",  # Karpathy's name for the COCO validation pictures that joined training
    "val": "val",
    "dev": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "testall": "test",
}
LANGUAGE_ALIASES = {"jp": "ja", "kr": "ko"}
_SPLIT_WORD = re.compile(rf"(?<![a-z])({'|'.join(SPLIT_NAMES)})(?![a-z])")


class Source:
    """A file or folder to import; every file read through it counts in `checksum`."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise UserError(f"no file or folder at {path}; check the path of the source")
        self.path = path
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
            raw = unpack(file)
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
            array: NDArray[Any] = np.lib.format.open_memmap(file, mode="r")
            self.remember(file)
        except Exception as error:  # numpy evaluates the header, so a damaged one can raise nearly anything
            raise UserError(f"{file} is not a complete .npy array of numbers: {error}") from error
        return array

    def remember(self, file: Path) -> None:
        """Add a file to the checksum that is read by other means."""
        with file.open("rb") as handle:
            self._remember(file, hashlib.file_digest(handle, "sha256").hexdigest())

    def _remember(self, file: Path, digest: str) -> None:
        self._digests[
            file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else file.name
        ] = digest

    @property
    def checksum(self) -> str:
        """SHA-256 over all files read so far."""
        return hashlib.sha256(json.dumps(sorted(self._digests.items())).encode()).hexdigest()


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


def printable(text: str) -> str:
    """The text with escapes for characters that UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()


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
