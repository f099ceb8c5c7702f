"""Sentences in any order -> one row per image."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from lingvis.data.importers.contract import FeatureArrays, ImportedRows
from lingvis.data.importers.source import language_code, plain_text
from lingvis.data.rows import Row, Split, row_problems
from lingvis.errors import UserError


@dataclass(slots=True)
class _Entry:
    split: Split
    where: str
    captions: dict[str, list[str]] = field(default_factory=dict)
    described: set[str] = field(default_factory=set)  # languages with captions that are not translations
    parallel: dict[str, str] = field(default_factory=dict)


class RowCollector:
    """Joins captions by image, in order of first appearance; raises for an image in two splits.

    White space inside a caption becomes one space; empty captions are skipped and counted in `empty`. Values that
    are not text, or cannot be stored as UTF-8, are rejected here for every format.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._problems: list[str] = []
        self.empty = 0

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect an error about one line instead of raising it, so that an import reports all of them."""
        try:
            yield
        except UserError as error:
            self.problem(str(error))

    def problem(self, sentence: str) -> None:
        """Add a problem of one line; the sentence names the line."""
        self._problems.append(sentence)

    def add(self, image: str, split: Split | None, lang: str, text: str, *, where: str) -> None:
        """Add one caption; split None: chosen by the image's name; where: the place that errors name."""
        code = language_code(lang, where)
        entry = self._entry(image, split, where)
        if tidy := _tidy(text, where):
            entry.captions.setdefault(code, []).append(tidy)
            entry.described.add(code)
        else:
            self.empty += 1

    def add_parallel(self, image: str, split: Split, sentences: Mapping[str, str], *, where: str) -> None:
        """Add translations of one another; each is also a caption, unless `add` added captions in its language before.

        A row has one set of translations: further translations for the image become only captions.
        """
        entry = self._entry(image, split, where)
        tidy = {language_code(lang, where): _tidy(text, where) for lang, text in sentences.items()}
        self.empty += sum(not text for text in tidy.values())
        kept = {lang: text for lang, text in tidy.items() if text}
        if not entry.parallel and len(kept) > 1:
            entry.parallel.update(kept)
        for lang, text in kept.items():
            if lang not in entry.described:
                entry.captions.setdefault(lang, []).append(text)

    def _entry(self, image: str, split: Split | None, where: str) -> _Entry:
        image = plain_text(image, "name of the image", where)
        entry = self._entries.get(image)
        if entry is None:
            entry = self._entries[image] = _Entry(split or split_by_hash(image), where)
        elif split is not None and split != entry.split:
            raise UserError(
                f"{where}: image {image!r} is in split {split} here but in {entry.split} in {entry.where}; "
                "an image belongs to one split, so remove it from one of them"
            )
        return entry

    def imported(self, *, features: FeatureArrays | None = None, notes: Sequence[str] = ()) -> ImportedRows:
        """The rows of all images that have a caption, with all problems; notes: about other data that was left out."""
        rows = []
        for image, entry in self._entries.items():
            if not entry.captions:
                continue
            captions = {lang: tuple(texts) for lang, texts in entry.captions.items()}
            try:
                rows.append(Row(image=image, split=entry.split, captions=captions, parallel=entry.parallel))
            except ValidationError as error:
                self.problem(f"{entry.where}: {'; '.join(row_problems(error))}")
        if not rows and not self._problems:
            raise UserError("the source has no captions; check that it is the right file or folder")
        skipped = [f"empty captions left out: {self.empty}"] if self.empty else []
        return ImportedRows(
            rows,
            features,
            notes=[*notes, *skipped],
            problems=self._problems,
            places={image: entry.where for image, entry in self._entries.items()},
        )


def _tidy(text: str, where: str) -> str:
    return " ".join(plain_text(text, "caption", where).split())


def split_by_hash(image: str) -> Split:
    """80 % train, 10 % val, 10 % test by the image's name alone, so that a growing dataset keeps its splits."""
    part = int.from_bytes(hashlib.sha256(image.encode()).digest()[:8]) % 100
    return "train" if part < 80 else "val" if part < 90 else "test"
