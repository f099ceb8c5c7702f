"""A folder of dictionaries -> one translation a word, for each language."""

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

    counts: how often words of `into` occur in your texts. Of several translations the most frequent is taken
    and the first of equals; one that is no single word never is. A dictionary of the other direction (en-de)
    is turned round and its translations come behind. Languages without a dictionary are left out.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder} is no folder; give the folder that holds the dictionaries, such as de-en.txt"
        )
    sources = [lang for lang in dict.fromkeys(languages) if lang != into]
    found = {lang: _pick(_both_directions(folder, lang, into), into, counts or {}) for lang in sources}
    if sources and not any(found.values()):
        raise UserError(
            f"{folder} has no dictionary from {', '.join(sources)} into {into}; name the files like "
            f"{sources[0]}-{into}.txt, {sources[0]}-{into}.index or freedict-deu-eng.index"
        )
    return {lang: chosen for lang, chosen in found.items() if chosen}


def _both_directions(folder: Path, lang: str, into: str) -> dict[str, tuple[str, ...]]:
    forward, backward = _file(folder, lang, into), _file(folder, into, lang)
    there = read_dictionary(forward) if forward else {}
    back = read_dictionary(backward) if backward else {}
    pairs = [(word, each) for word, translations in there.items() for each in translations]
    pairs += [(each, word) for word, translations in back.items() for each in translations]
    return collect(pairs)


def _file(folder: Path, source: str, target: str) -> Path | None:
    """The dictionary from one language into another, by the names users and FreeDict give it."""
    names = [f"{first}-{second}" for first in spellings(source) for second in spellings(target)]
    files = [folder / f"{prefix}{name}{end}" for name in names for end in (".txt", ".index", ".csv")
             for prefix in ("", "freedict-")]  # fmt: skip
    return next((file for file in files if file.is_file()), None)


def _pick(dictionary: Mapping[str, Iterable[str]], into: str, counts: Mapping[str, int]) -> dict[str, str]:
    chosen = {}
    for word, translations in dictionary.items():
        single = [each for each in translations if words(each, into) == [each]]
        # A sentence is looked up word by word, so an expression would never be met.
        if single and " " not in word:
            chosen[word] = max(single, key=lambda each: counts.get(each, 0))
    return chosen
