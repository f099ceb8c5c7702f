"""Captions beside pictures: dog.txt, or dog.de.txt with its language, for dog.jpg."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.stores.records import Item
from lingvis.collection.writer.found import ScannedFile
from lingvis.data.images import read_real_file
from lingvis.model.encoder import Encoder

CHARACTERS = 2000  # of a caption to keep
BYTES = 64 * 1024  # of its file to read


class CaptionReader:
    """Reads captions and encodes them with the model's text side."""

    def __init__(self, embedder: Encoder) -> None:
        self._embedder = embedder
        self._detector: LanguageDetector | None = None

    def read(self, file: ScannedFile) -> tuple[str | None, str | None]:
        """Return caption and language of a picture; the language is detected unless the file name has it."""
        text, lang = self.find(file)
        return text, self._detect(text) if text is not None and lang is None else lang

    def find(self, file: ScannedFile) -> tuple[str | None, str | None]:
        """Return the first caption of a picture in one of the model's languages, and the language in its file name."""
        if not file.captions:
            return None, None
        stem = Path(file.path).stem
        for path in map(Path, file.captions):
            lang = path.stem.removeprefix(stem).removeprefix(".") or None
            if lang is None or lang in self._embedder.languages:
                with contextlib.suppress(OSError):
                    words = read_real_file(path, BYTES).decode("utf-8-sig", errors="replace").split()
                    if text := " ".join(words)[:CHARACTERS]:
                        return text, lang
        return None, None

    def encode(self, items: Sequence[tuple[Item, str | None, str | None]]) -> list[Item]:
        """Return items with the given captions and languages, and the embeddings of the captions."""
        captions = [(text, lang) for _, text, lang in items if text is not None and lang is not None]
        if not captions and all(item.info.caption is None for item, _, _ in items):
            return [item for item, _, _ in items]
        vectors = iter(
            self._embedder.encode_texts([text for text, _ in captions], [lang for _, lang in captions])
        )
        return [
            replace(
                item,
                info=replace(item.info, caption=text, lang=lang),
                caption_embedding=None if text is None else next(vectors),
            )
            for item, text, lang in items
        ]

    def _detect(self, text: str) -> str:
        if self._detector is None:
            self._detector = LanguageDetector(self._embedder.languages)
        return self._detector(text)
