"""Datasets: a folder with captions.jsonl[.gz], images/ and features/, read and validated."""

from __future__ import annotations

import contextlib
import gzip
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.detections import REGIONS, read_detections
from lingvis.data.rows import SPLITS, Row, TextRow, named_image, parse_row, parse_text_row
from lingvis.data.sentence_source import KINDS, SentenceSource
from lingvis.errors import UserError, choices
from lingvis.files import checksum
from lingvis.untrusted import byte_lines

CAPTION_FILES = ("captions.jsonl", "captions.jsonl.gz")
TEXT_ONLY_FILES = ("text-only.jsonl", "text-only.jsonl.gz")
PROBLEMS_SHOWN = 20
MOST_PROBLEMS = 10_000  # a file with more is read no further


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of one line of a dataset file."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Captions:
    """The sentences of one split, and the image of each.

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

        An open dataset is returned unchanged, so that functions accept both.
        """
        if isinstance(path, Dataset):
            return path
        path = Path(path)
        file = captions_file(path)
        rows, problems = read_rows(file, available_images(path))
        _raise(file, problems)
        if not rows:
            raise UserError(f"{file} is empty; it needs one JSON row per image")
        return cls(path, rows, checksum(file))

    @property
    def images_dir(self) -> Path:
        """The folder of the pictures."""
        return self.path / "images"

    @property
    def features_dir(self) -> Path:
        """The folder of stored features, one subfolder per store."""
        return self.path / "features"

    @property
    def detections_dir(self) -> Path:
        """The folder of stored detections, one subfolder per detector."""
        return self.path / "detections"

    @cached_property
    def languages(self) -> list[str]:
        """Every language that has a caption, in order of first appearance."""
        return list(dict.fromkeys(lang for row in self.rows for lang, texts in row.captions.items() if texts))

    @property
    def text_only_file(self) -> Path | None:
        """The file of sentences without pictures, None if the dataset has none."""
        files = [self.path / name for name in TEXT_ONLY_FILES if (self.path / name).is_file()]
        if len(files) > 1:
            raise UserError(f"{self.path} has both {' and '.join(TEXT_ONLY_FILES)}; keep one of them")
        return files[0] if files else None

    def text_only(self) -> list[TextRow]:
        """Sentences about pictures that are not in the dataset; empty if there is no such file."""
        file = self.text_only_file
        if file is None:
            return []
        problems: list[Problem] = []
        rows: list[TextRow] = []
        seen: dict[str, int] = {}
        for number, line in _lines(file, problems):
            row, messages = parse_text_row(line)
            problems.extend(Problem(number, message) for message in messages)
            if row is None:
                continue
            if row.id in seen:
                problems.append(Problem(number, f"id {row.id!r} is already on line {seen[row.id]}"))
            seen.setdefault(row.id, number)
            rows.append(row)
        _raise(file, problems)
        return rows

    def without(self, images: Collection[str]) -> Dataset:
        """A copy without some images, such as broken pictures."""
        return replace(self, rows=[row for row in self.rows if row.image not in images])

    def with_translations(self, human: Collection[str] | None = None) -> Dataset:
        """A copy whose machine translations are captions like the others; human: languages that keep their human ones."""
        rows = []
        for row in self.rows:
            kept = {lang: texts for lang, texts in row.captions.items() if human is None or lang in human}
            added = {lang: (*kept.get(lang, ()), *row.translations(lang)) for lang in row.translated}
            rows.append(row.model_copy(update={"captions": kept | added}))
        return replace(self, rows=rows)

    def with_regions(self, detections: str | None = None) -> Dataset:
        """A copy whose rows have stored regions.

        detections: the name of a folder of detections, whose regions replace the regions of the rows. By
        default, rows with regions keep them, and others get the regions of the folder `regions`, if it exists.
        """
        folder = self.detections_dir / (detections or REGIONS)
        if detections is None and not folder.is_dir():
            return self
        images = [row.image for row in self.rows if detections is not None or not row.regions]
        stored = read_detections(folder, images)
        rows = [row.model_copy(update={"regions": stored.get(row.image, row.regions)}) for row in self.rows]
        return replace(self, rows=rows)

    def captions(
        self,
        split: str,
        languages: Sequence[str] | None = None,
        *,
        source: SentenceSource = "captions",
    ) -> Captions:
        """All sentences of `split` in `languages` (None: in all) and the images with at least one."""
        if split not in SPLITS:
            raise UserError(f"unknown split {split!r}; choose one of: {', '.join(SPLITS)}")
        images: list[str] = []
        texts: list[str] = []
        langs: list[str] = []
        image_of: list[int] = []
        for row in self.rows:
            if row.split != split:
                continue
            sentences = [
                (lang, text)
                for lang, text in _sentences(row, source)
                if languages is None or lang in languages
            ]
            image_of.extend([len(images)] * len(sentences))
            texts.extend(text for _, text in sentences)
            langs.extend(lang for lang, _ in sentences)
            if sentences:
                images.append(row.image)
        present = set(langs)
        missing = [lang for lang in languages or [] if lang not in present]
        if missing or not texts:
            absent = ", ".join(missing) if missing else "any language"
            available = {
                lang for row in self.rows if row.split == split for lang, _ in _sentences(row, source)
            }
            raise UserError(
                f"{self.path} has no {KINDS[source]} in {absent} in split {split}; the split has: {choices(available)}"
            )
        return Captions(images, texts, langs, np.asarray(image_of, dtype=np.int64))


def _sentences(row: Row, source: SentenceSource) -> Iterator[tuple[str, str]]:
    if source == "parallel":
        yield from row.parallel.items()
        return
    for lang in row.translated if source == "translated" else row.captions:
        for text in row.translations(lang) if source == "translated" else row.captions[lang]:
            yield lang, text


def _raise(file: Path, problems: Sequence[Problem]) -> None:
    """Report all problems of a file at once; do nothing if there are none."""
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise UserError(
            f"{file} has {count}; fix these lines and try again:", list_problems([*map(str, problems)])
        )


def list_problems(problems: Sequence[str]) -> list[str]:
    """The first PROBLEMS_SHOWN problems, and the number of the rest."""
    more = len(problems) - PROBLEMS_SHOWN
    return [*problems[:PROBLEMS_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def captions_file(path: Path) -> Path:
    """The caption file of a dataset folder."""
    if not path.is_dir():
        raise UserError(f"no dataset folder at {path}; make one with: lingvis data import FORMAT SRC {path}")
    files = [path / name for name in CAPTION_FILES if (path / name).is_file()]
    if len(files) == 1:
        return files[0]
    if files:
        raise UserError(f"{path} has both {CAPTION_FILES[0]} and {CAPTION_FILES[1]}; keep one of them")
    raise UserError(f"{path} has no {CAPTION_FILES[0]} or {CAPTION_FILES[1]}; name a dataset folder")


def available_images(path: Path) -> set[str] | None:
    """The names of the files below images/, or None for a dataset with features but no pictures."""
    folder = path / "images"
    if not folder.is_dir():
        if (path / "features").is_dir():
            return None
        raise UserError(f"{path} has no images/ folder; put the pictures there")
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def read_rows(file: Path, images: set[str] | None) -> tuple[list[Row], list[Problem]]:
    """Parse every line -> rows and problems, both in file order."""
    rows: list[Row] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for number, line in _lines(file, problems):
        row, messages = parse_row(line)
        problems.extend(Problem(number, message) for message in messages)
        image = named_image(line) if row is None else row.image
        if image is not None:
            if image in seen:
                problems.append(Problem(number, f"image {image!r} is already on line {seen[image]}"))
            elif images is not None and image not in images:
                problems.append(Problem(number, f"image {image!r} is missing from images/"))
            seen.setdefault(image, number)
        if row is not None:
            rows.append(row)
    return rows, problems


def _lines(file: Path, problems: list[Problem]) -> Iterator[tuple[int, str]]:
    """Numbered lines, decoded one by one so that a wrong encoding is reported with its line; blank lines are skipped."""
    lines = byte_lines(file)
    for number in itertools.count(start=1):
        try:
            line = next(lines, None)
        except (OSError, ValueError) as error:
            raise UserError(f"{file} cannot be read: {error}; it may be cut off") from error
        if line is None or len(problems) >= MOST_PROBLEMS:
            return
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(number, f"not UTF-8 at byte {error.start}; save the file as UTF-8"))
            continue
        if text.strip():
            yield number, text


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Write rows to a file in the format of captions.jsonl, packed if its name ends in .gz."""
    with file.open("wb") as raw, contextlib.ExitStack() as stack:
        # Without name and time: the same rows make the same file.
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if file.suffix == ".gz" else None
        out = raw if packed is None else stack.enter_context(packed)
        out.writelines(f"{row.to_json()}\n".encode() for row in rows)
