"""A dataset is a folder: captions.jsonl[.gz], images/ and features/. This reads and validates it."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.detections import REGIONS, read_detections
from lingvis.data.rows import SPLITS, Row, TextRow, named_image, parse_row, parse_text_row
from lingvis.errors import UserError, choices

CAPTION_FILES = ("captions.jsonl", "captions.jsonl.gz")
TEXT_ONLY_FILES = ("text-only.jsonl", "text-only.jsonl.gz")
PROBLEMS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a line of a dataset file."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Captions:
    """Sentences of one split and the explicit map to their images.

    texts[c] is in language langs[c] and describes images[image_of[c]].
    """

    images: list[str]
    texts: list[str]
    langs: list[str]
    image_of: Ints


@dataclass(frozen=True)
class Dataset:
    """A validated dataset folder; `Dataset.open(path)` reads one."""

    path: Path
    rows: Sequence[Row]
    fingerprint: str = field(default="", compare=False)

    @classmethod
    def open(cls, path: Dataset | Path | str) -> Dataset:
        """Read and validate a dataset folder; every problem of the file is reported at once, by line.

        A dataset that is open already is returned as it is, so that functions may take either.
        """
        if isinstance(path, Dataset):
            return path
        path = Path(path)
        file = captions_file(path)
        rows, problems = read_rows(file, available_images(path))
        _raise(file, problems)
        if not rows:
            raise UserError(f"{file} is empty; it needs one JSON row per image")
        return cls(path, rows, hashlib.sha256(file.read_bytes()).hexdigest())

    @property
    def images_dir(self) -> Path:
        """Where the pictures lie."""
        return self.path / "images"

    @property
    def features_dir(self) -> Path:
        """Where stored features lie, one folder each."""
        return self.path / "features"

    @property
    def detections_dir(self) -> Path:
        """Where detections lie, one folder each."""
        return self.path / "detections"

    @cached_property
    def languages(self) -> list[str]:
        """Every language that has a caption, in order of first appearance."""
        return list(dict.fromkeys(lang for row in self.rows for lang, texts in row.captions.items() if texts))

    @property
    def text_only_file(self) -> Path | None:
        """The file of sentences without pictures, where there is one."""
        found = [self.path / name for name in TEXT_ONLY_FILES if (self.path / name).is_file()]
        if len(found) > 1:
            raise UserError(f"{self.path} has both {' and '.join(TEXT_ONLY_FILES)}; keep one of them")
        return found[0] if found else None

    def text_only(self) -> list[TextRow]:
        """Sentences about pictures that are not in the dataset; none when it has no such file."""
        file = self.text_only_file
        if file is None:
            return []
        problems: list[Problem] = []
        rows: list[TextRow] = []
        seen: dict[str, int] = {}
        for number, line in _lines(file, problems):
            row, found = parse_text_row(line)
            problems.extend(Problem(number, message) for message in found)
            if row is None:
                continue
            if row.id in seen:
                problems.append(Problem(number, f"id {row.id!r} stands on line {seen[row.id]} already"))
            seen.setdefault(row.id, number)
            rows.append(row)
        _raise(file, problems)
        return rows

    def without(self, images: Collection[str]) -> Dataset:
        """The same dataset less some images (those whose pictures are broken)."""
        return replace(self, rows=[row for row in self.rows if row.image not in images])

    def with_regions(self, detections: str | None = None) -> Dataset:
        """The same rows with what detectors saw.

        detections: the name of a folder of detections, whose regions replace those of the rows; by default rows
        that have regions keep them, and the others get those of `regions`, where there is such a folder.
        """
        folder = self.detections_dir / (detections or REGIONS)
        if detections is None and not folder.is_dir():
            return self
        wanted = [row.image for row in self.rows if detections is not None or not row.regions]
        found = read_detections(folder, wanted)
        rows = [row.model_copy(update={"regions": found.get(row.image, row.regions)}) for row in self.rows]
        return replace(self, rows=rows)

    def captions(
        self,
        split: str,
        languages: Sequence[str] | None = None,
        *,
        source: Literal["captions", "parallel"] = "captions",
    ) -> Captions:
        """All sentences of `split` in `languages` (all when None) and the images that have at least one."""
        if split not in SPLITS:
            raise UserError(f"unknown split {split!r}; choose one of: {', '.join(SPLITS)}")
        images: list[str] = []
        texts: list[str] = []
        langs: list[str] = []
        image_of: list[int] = []
        for row in self.rows:
            if row.split != split:
                continue
            found = [
                (lang, text)
                for lang, text in _sentences(row, source)
                if languages is None or lang in languages
            ]
            image_of.extend([len(images)] * len(found))
            texts.extend(text for _, text in found)
            langs.extend(lang for lang, _ in found)
            if found:
                images.append(row.image)
        present = set(langs)
        missing = [lang for lang in languages or [] if lang not in present]
        if missing or not texts:
            wanted = ", ".join(missing) if missing else "any language"
            here = {lang for row in self.rows if row.split == split for lang, _ in _sentences(row, source)}
            sentences = "parallel sentences" if source == "parallel" else source
            raise UserError(
                f"{self.path} has no {sentences} in {wanted} in split {split}; that split has: {choices(here)}"
            )
        return Captions(images, texts, langs, np.asarray(image_of, dtype=np.int64))


def _sentences(row: Row, source: Literal["captions", "parallel"]) -> Iterator[tuple[str, str]]:
    if source == "parallel":
        yield from row.parallel.items()
        return
    for lang, sentences in row.captions.items():
        for text in sentences:
            yield lang, text


def _raise(file: Path, problems: Sequence[Problem]) -> None:
    """Tell all problems of a file at once."""
    if problems:
        shown = "\n".join(f"  {problem}" for problem in problems[:PROBLEMS_SHOWN])
        more = len(problems) - PROBLEMS_SHOWN
        rest = f"\n  and {more} more" if more > 0 else ""
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise UserError(f"{file} has {count}; mend these lines and try again:\n{shown}{rest}")


def captions_file(path: Path) -> Path:
    """The caption file of a dataset folder."""
    if not path.is_dir():
        raise UserError(f"no dataset folder at {path}; make one with: lingvis data import FORMAT SRC {path}")
    found = [path / name for name in CAPTION_FILES if (path / name).is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{path} has both {CAPTION_FILES[0]} and {CAPTION_FILES[1]}; keep one of them")
    raise UserError(f"{path} has no {CAPTION_FILES[0]} or {CAPTION_FILES[1]}; is it a dataset folder?")


def available_images(path: Path) -> set[str] | None:
    """Names below images/, or None when the dataset has features only (arrays without pictures)."""
    folder = path / "images"
    if not folder.is_dir():
        if (path / "features").is_dir():
            return None
        raise UserError(f"{path} has no images/ folder; put the pictures there")
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def read_rows(file: Path, images: set[str] | None) -> tuple[list[Row], list[Problem]]:
    """Parse every line; rows and problems, both in file order."""
    rows: list[Row] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for number, line in _lines(file, problems):
        row, found = parse_row(line)
        problems.extend(Problem(number, message) for message in found)
        image = named_image(line) if row is None else row.image
        if image is not None:
            if image in seen:
                problems.append(Problem(number, f"image {image!r} stands on line {seen[image]} already"))
            elif images is not None and image not in images:
                problems.append(Problem(number, f"image {image!r} is missing from images/"))
            seen.setdefault(image, number)
        if row is not None:
            rows.append(row)
    return rows, problems


def _lines(file: Path, problems: list[Problem]) -> Iterator[tuple[int, str]]:
    """Lines decoded one by one, so that a wrong encoding is reported at its line; blank lines are skipped."""
    try:
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file} cannot be read: {error}; is it a whole file?") from error
    for number, line in enumerate(raw.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(number, f"not UTF-8 at byte {error.start}; save the file as UTF-8"))
            continue
        if text.strip():
            yield number, text


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Write rows as captions.jsonl."""
    with file.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(row.to_json() + "\n" for row in rows)
