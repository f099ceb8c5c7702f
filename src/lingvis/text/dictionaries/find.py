"""A folder of dictionaries -> one translation per word, for each language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.dictionaries.read import collect, read_dictionary
from lingvis.text.lexicon.iso639 import spellings
from lingvis.text.segment import words


def find_dictionaries(
    folder: Path, languages: Iterable[str], *, into: str = "en", counts: Mapping[str, int] | None = None
) -> dict[str, dict[str, str]]:
    """Language -> word -> one word of `into`, from files such as de-en.txt or freedict-deu-eng.index.

    counts: how often words of `into` occur in your texts. The most frequent translation is taken, the first one in
    case of a tie; translations of several words are skipped. A dictionary of the other direction (en-de) is
    inverted, and its translations come last. Languages without a dictionary are omitted.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder} is not a folder; name the folder that holds the dictionaries, such as de-en.txt"
        )
    sources = [lang for lang in dict.fromkeys(languages) if lang != into]
    dictionaries = {lang: _pick(_both_directions(folder, lang, into), into, counts or {}) for lang in sources}
    if sources and not any(dictionaries.values()):
        raise UserError(
            f"{folder} has no dictionary from {', '.join(sources)} into {into}; name the files like "
            f"{sources[0]}-{into}.txt, {sources[0]}-{into}.index or freedict-deu-eng.index"
        )
    return {lang: chosen for lang, chosen in dictionaries.items() if chosen}


def _both_directions(folder: Path, lang: str, into: str) -> dict[str, tuple[str, ...]]:
    forward, backward = _file(folder, lang, into), _file(folder, into, lang)
    entries = read_dictionary(forward) if forward else {}
    inverse = read_dictionary(backward) if backward else {}
    pairs = [(word, translation) for word, translations in entries.items() for translation in translations]
    pairs += [(word, translation) for translation, words in inverse.items() for word in words]
    return collect(pairs)


def _file(folder: Path, source: str, target: str) -> Path | None:
    """The file of a dictionary from one language into another, named as users or FreeDict name it."""
    names = [f"{first}-{second}" for first in spellings(source) for second in spellings(target)]
    files = [folder / f"{prefix}{name}{end}" for name in names for end in (".txt", ".index", ".csv")
             for prefix in ("", "freedict-")]  # fmt: skip
    return next((file for file in files if file.is_file()), None)


def _pick(dictionary: Mapping[str, Iterable[str]], into: str, counts: Mapping[str, int]) -> dict[str, str]:
    chosen = {}
    for word, translations in dictionary.items():
        single = [translation for translation in translations if words(translation, into) == [translation]]
        # Sentences are looked up word by word, so an entry of several words would never be found.
        if single and " " not in word:
            chosen[word] = max(single, key=lambda translation: counts.get(translation, 0))
    return chosen
