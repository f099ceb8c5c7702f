"""A translation memory: a file of translated sentences, so that stopped work continues and nothing is translated twice."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.translators.contract import TRANSLATORS, Translator
from lingvis.untrusted import parse_json, read_bytes

KEYS = ("translator", "source", "target", "text")
Key = tuple[str, ...]


class TranslationMemory:
    """A translator that writes every translation to a file and looks there first.

    name: the registered translator, which is started only for sentences that the file lacks. The file may hold the
    translations of several translators. A kill loses at most the sentences of one call.
    """

    def __init__(self, name: str, file: Path) -> None:
        self.name, self.file = name, file
        self._make = TRANSLATORS.get(name)
        self._translator: Translator | None = None
        self._known = _read(file)

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        keys: list[Key] = [(self.name, source, target, text) for text in texts]
        missing = list(dict.fromkeys(key for key in keys if key not in self._known))
        if missing:
            if self._translator is None:
                self._translator = self._make()
            results = self._translator([key[-1] for key in missing], source, target)
            made = dict(zip(missing, results, strict=True))
            self._append(made)
            self._known |= made
        return [self._known[key] for key in keys]

    def _append(self, made: dict[Key, str]) -> None:
        lines = [
            json.dumps(dict(zip(KEYS, key, strict=True)) | {"translation": translation}, ensure_ascii=False)
            for key, translation in made.items()
        ]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as out:
            out.write("".join(f"{line}\n" for line in lines).encode(errors="replace"))
            out.flush()
            os.fsync(out.fileno())


def _read(file: Path) -> dict[Key, str]:
    """The stored translations; a last line without its end, torn by a kill, is removed."""
    if not file.is_file():
        return {}
    stored = read_bytes(file)
    *lines, torn = stored.split(b"\n")
    if torn:
        os.truncate(file, len(stored) - len(torn))
    known: dict[Key, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            value = parse_json(line.decode())
            *key, translation = (value[name] for name in (*KEYS, "translation"))
            if not all(isinstance(part, str) for part in (*key, translation)):
                raise TypeError("expected text")
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{file}, line {number}, is no stored translation ({error}); delete the file to translate again"
            ) from error
        known[tuple(key)] = translation
    return known
