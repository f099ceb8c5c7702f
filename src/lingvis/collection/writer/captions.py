"""Captions beside pictures: dog.txt, or dog.de.txt with its language, for dog.jpg."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.stores.contract import Item
from lingvis.collection.writer.scan import Found
from lingvis.data.regular import read_regular
from lingvis.model.embedder import Embedder

CHARACTERS = 2000  # of a caption that are kept
BYTES = 64 * 1024  # of its file that are read


class NoteReader:
    """Reads captions and embeds them with the model's text side."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._detector: LanguageDetector | None = None

    def read(self, file: Found) -> tuple[str | None, str | None]:
        """Caption and language of a picture, which is detected unless the file's name tells it."""
        text, lang = self.find(file)
        return text, self._detect(text) if text is not None and lang is None else lang

    def find(self, file: Found) -> tuple[str | None, str | None]:
        """The first caption of a picture in one of the model's languages, and the language as far as its name tells."""
        stem = Path(file.path).stem
        for note in map(Path, file.notes):
            lang = note.stem.removeprefix(stem).removeprefix(".") or None
            if lang is None or lang in self._embedder.languages:
                with contextlib.suppress(OSError):
                    words = read_regular(str(note), BYTES).decode("utf-8-sig", errors="replace").split()
                    if text := " ".join(words)[:CHARACTERS]:
                        return text, lang
        return None, None

    def embed(self, items: Sequence[tuple[Item, str | None, str | None]]) -> list[Item]:
        """Items with the captions and languages given, and the vectors of these."""
        noted = [(text, lang) for _, text, lang in items if text is not None and lang is not None]
        vectors = iter(self._embedder.encode_texts([text for text, _ in noted], [lang for _, lang in noted]))
        return [
            replace(
                item,
                entry=replace(item.entry, note=text, lang=lang),
                note_embedding=None if text is None else next(vectors),
            )
            for item, text, lang in items
        ]

    def _detect(self, text: str) -> str:
        if self._detector is None:
            self._detector = LanguageDetector(self._embedder.languages)
        return self._detector(text)
