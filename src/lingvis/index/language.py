"""In which of a model's languages a question is written."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from lingvis.errors import UserError


class LanguageDetector:
    """py3langid, restricted to the languages given; those it does not know are never detected."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = list(languages)
        # zh-Hans and pt-BR are zh and pt to the detector; the first of a model's languages answers to the name.
        names = {lang.split("-")[0].lower(): lang for lang in reversed(self.languages)}
        self._names: dict[str, str] = {}
        if len(self.languages) > 1:
            self._identifier = _identifier()
            self._names = {name: lang for name, lang in names.items() if name in self._identifier.labels}
            self._identifier.set_languages(sorted(self._names))

    def __call__(self, text: str) -> str:
        """The likeliest language; the model's first where nothing speaks for any."""
        if not self._names or not any(letter.isalpha() for letter in text):
            return self.languages[0]
        return self._names[self._identifier.classify(text)[0]]


def _identifier() -> Any:
    try:
        langid: Any = importlib.import_module("py3langid.langid")
    except ImportError as error:
        raise UserError(
            "telling the language of a question needs py3langid; give it with --lang, or run: "
            "pip install 'lingvis[index]'"
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
