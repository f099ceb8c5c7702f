"""Detection of the language of a query among the languages of a model."""

from __future__ import annotations

import importlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from lingvis.errors import UserError
from lingvis.relevance.known_words import KnownWords
from lingvis.text.segment import words

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


# A candidate language scores this much per word that it has, per unit of py3langid's log-probability, and as the
# preferred language. The first is one word's worth; it must outweigh a preference, which only decides between
# languages that share the words. Chosen on words and phrases of validation captions.
KNOWN_WORD, LOG_PROBABILITY, PREFERRED = 4.0, 0.3, 1.0
# No language of the model has the sentence if few of its words are known, and py3langid is sure of another language.
SENTENCE_WORDS, FEW_KNOWN, SURE = 3, 0.8, 3.0


class LanguageDetector:
    """Detects the language by the script; if several languages share it, by known words, py3langid and a preference.

    known: the words of the model, None if its folder has none.
    """

    def __init__(self, languages: Sequence[str], known: KnownWords | None = None) -> None:
        self.languages, self._known = list(languages), known
        # The detector knows zh and pt, not zh-Hans and pt-BR: they mean the model's first language with this prefix.
        self._names = {_base(lang): lang for lang in reversed(self.languages)}
        self._written: dict[str, set[str]] = {
            script: set(listed.split()) for script, listed in SCRIPTS.items()
        }
        elsewhere = set().union(*self._written.values()) - MIXED
        self._written["LATIN"] = set(self._names) - elsewhere

    def __call__(self, text: str, prefer: Sequence[str] = ()) -> str:
        """Return the most likely language; if nothing is detected, a preferred language or the model's first.

        prefer: languages that the user probably writes, the likeliest first, such as the language of a page.
        """
        preferred = [name for name in map(_base, prefer) if name in self._names]
        candidates = self._candidates(text)
        if len(candidates) == 1:
            return self._names[candidates[0]]
        if not candidates:
            return self._names[preferred[0]] if preferred else self.languages[0]
        scores = {name: self._score(text, name, preferred) for name in candidates}
        best, second = sorted(scores.values(), reverse=True)[:2]
        if best - second < KNOWN_WORD - PREFERRED:  # otherwise no reason to load py3langid, which takes long
            likely = dict(_identify(text))
            unlikely = min(likely.values(), default=0.0)
            for name in scores:
                scores[name] += LOG_PROBABILITY * likely.get(name, unlikely)
        return self._names[max(candidates, key=scores.__getitem__)]

    def foreign(self, text: str) -> bool:
        """Return whether a sentence is certainly in a language that the model lacks.

        Without known words only the script can show this.
        """
        if not any(map(str.isalpha, text)):
            return False
        candidates = self._candidates(text)
        if not candidates:
            return True
        if self._known is None:
            return False
        lengths = {name: len(words(text, self._names[name])) for name in candidates}
        uncovered = any(self._names[name] not in self._known.languages for name in candidates)
        if uncovered or max(lengths.values()) < SENTENCE_WORDS:
            return False
        share = max(self._known.count(text, self._names[name]) / lengths[name] for name in candidates)
        if share >= FEW_KNOWN:
            return False
        likely = _identify(text)
        inside = [probability for name, probability in likely if name in candidates]
        return bool(inside) and likely[0][1] - max(inside) > SURE

    def _candidates(self, text: str) -> list[str]:
        """Return the languages of the model that are written in the script of the text, in the model's order."""
        script = _script(text)
        names = set(self._names) & self._written.get(script, set())
        if script == "CJK" and names & CHINESE:
            names &= CHINESE
        return [name for name in dict.fromkeys(map(_base, self.languages)) if name in names]

    def _score(self, text: str, name: str, preferred: Sequence[str]) -> float:
        count = self._known.count(text, self._names[name]) if self._known is not None else 0
        # The second preference counts half as much, and so on.
        preference = PREFERRED / (preferred.index(name) + 1) if name in preferred else 0.0
        return KNOWN_WORD * count + preference


def _base(lang: str) -> str:
    return lang.split("-")[0].lower()


def _script(text: str) -> str:
    """Return the script of most letters; one kana among Chinese characters means Japanese."""
    counts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    most = [script for script, _ in counts.most_common(1)]
    kana = KANA & counts.keys()
    return kana.pop() if most == ["CJK"] and kana else "".join(most)


def _identify(text: str) -> list[tuple[str, float]]:
    """Return the languages that py3langid knows with their log-probabilities, the likeliest first."""
    return _identifier().rank(text)  # type: ignore[no-any-return]


@cache
def _identifier() -> Any:
    try:
        langid: Any = importlib.import_module("py3langid.langid")
    except ImportError as error:
        raise UserError(
            "detecting the language of a query needs py3langid; give the language in `lang`, or run: "
            "pip install 'lingvis[index]'"
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
