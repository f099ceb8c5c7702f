"""Detection of the language of a query among the languages of a model."""

from __future__ import annotations

import importlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lingvis.errors import UserError

# Scripts, by the first word of Unicode names, and their languages; all others, and also MIXED, are written in Latin.
SCRIPTS = {
    "ARABIC": "ar ckb fa ks ku ps sd ug ur",
    "ARMENIAN": "hy",
    "BENGALI": "as bn",
    "CJK": "ja ko wuu yue zh",
    "CYRILLIC": "ba be bg ce cv kk ky mk mn os ru sah sr tg tt uk",
    "DEVANAGARI": "hi mr ne sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he yi",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MONGOLIAN": "mn",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
    "TIBETAN": "bo dz",
}
MIXED = {"kk", "ku", "sr"}
KANA = {"HIRAGANA", "KATAKANA"}
CHINESE = {"wuu", "yue", "zh"}  # a sentence with only Chinese characters is rarely Japanese or Korean


class LanguageDetector:
    """Detects the language by the script; if several languages share it, by py3langid among these."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = list(languages)
        # The detector knows zh and pt, not zh-Hans and pt-BR: they mean the model's first language with this prefix.
        self._names = {_base(lang): lang for lang in reversed(self.languages)}
        self._written: dict[str, set[str]] = {
            script: set(listed.split()) for script, listed in SCRIPTS.items()
        }
        elsewhere = set().union(*self._written.values()) - MIXED
        self._written["LATIN"] = set(self._names) - elsewhere
        self._identifier: Any = None
        if len(self._names) > 1:
            self._identifier = _identifier()
            self._identifier.set_languages(sorted(set(self._names) & set(self._identifier.labels)))

    def __call__(self, text: str) -> str:
        """Return the most likely language; the model's first language if nothing is detected."""
        script = _script(text)
        names = set(self._names) & self._written.get(script, set())
        if script == "CJK" and names & CHINESE:
            names &= CHINESE
        if not names:
            return self.languages[0]
        if len(names) == 1:
            return self._names[names.pop()]
        ranked = [name for name, _ in self._identifier.rank(text) if name in names]
        return (
            self._names[ranked[0]]
            if ranked
            else next(lang for lang in self.languages if _base(lang) in names)
        )


def _base(lang: str) -> str:
    return lang.split("-")[0].lower()


def _script(text: str) -> str:
    """Return the script of most letters; one kana among Chinese characters means Japanese."""
    counts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    most = [script for script, _ in counts.most_common(1)]
    kana = KANA & counts.keys()
    return kana.pop() if most == ["CJK"] and kana else "".join(most)


def _identifier() -> Any:
    try:
        langid: Any = importlib.import_module("py3langid.langid")
    except ImportError as error:
        raise UserError(
            "detecting the language of a query needs py3langid; give the language in `lang`, or run: "
            "pip install 'lingvis[index]'"
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
