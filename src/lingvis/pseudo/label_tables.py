"""Translate the labels of detectors: fill the label tables from dictionaries, and keep the user's entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.pseudo.labels import label_counts, read_label_table, table_file, write_label_table
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.segment import normalised, words


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The label table of one language.

    labels: number of distinct labels; missing: labels without a translation, most frequent first; covered: the share
    of all labels in the pictures, repeated ones included, that have a translation.
    """

    lang: str
    file: Path
    labels: int
    missing: list[str]
    covered: float

    def as_json(self) -> dict[str, Any]:
        """The table as JSON values."""
        return asdict(self) | {"file": str(self.file)}


def translate_labels(
    dataset: Dataset | Path | str,
    *,
    dictionaries: Sequence[str] = (),
    languages: Sequence[str] | None = None,
    detections: str | None = None,
) -> list[LabelTable]:
    """Write labels/LANG.csv for each language, most frequent labels first; existing translations are kept.

    dictionaries: `de=FILE`, each from English. A label is looked up as a whole; among several translations, the
    one with the most frequent words in the captions of the language wins, the first one in case of a tie.
    """
    dataset = Dataset.open(dataset)
    counts = label_counts(dataset.with_regions(detections).rows)
    if not counts:
        raise UserError(
            f"{dataset.path} has no regions with labels; make them with: "
            f"lingvis features detect {dataset.path} --detector DETECTOR"
        )
    files = dict(_pair(text) for text in dictionaries)
    targets = languages or [lang for lang in dataset.languages if lang != LABEL_LANGUAGE]
    unused = [lang for lang in files if lang not in targets]
    if unused:
        raise UserError(
            f"there is a dictionary for {', '.join(unused)}, but the languages are {', '.join(targets)}; "
            "leave it out, or add its language"
        )
    entries = {lang: read_dictionary(file) for lang, file in files.items()}
    return [_write(dataset, lang, counts, entries.get(lang, {})) for lang in targets]


def _write(
    dataset: Dataset, lang: str, counts: Counter[str], dictionary: Mapping[str, Sequence[str]]
) -> LabelTable:
    file = table_file(dataset, lang)
    old = read_label_table(file) if file.is_file() else {}
    word_counts = Counter(
        word for row in dataset.rows for text in row.captions.get(lang, ()) for word in words(text, lang)
    )
    labels = [label for label, _ in counts.most_common()]
    translations = {
        label: old.get(label) or _choose(label, lang, dictionary, word_counts) for label in labels
    }
    table = old | translations
    if table != old:
        write_label_table(file, {label: table[label] for label in [*labels, *(old.keys() - counts.keys())]})
    missing = [label for label in labels if not translations[label]]
    covered = 1 - sum(counts[label] for label in missing) / counts.total()
    return LabelTable(lang, file, len(labels), missing, covered)


def _choose(
    label: str, lang: str, dictionary: Mapping[str, Sequence[str]], word_counts: Mapping[str, int]
) -> str:
    """The translation of a label whose rarest word is most frequent in captions; empty if there is none."""

    def rarest(translation: str) -> int:
        return min((word_counts.get(word, 0) for word in words(translation, lang)), default=0)

    return max(dictionary.get(normalised(label), ()), key=rarest, default="")


def _pair(text: str) -> tuple[str, Path]:
    lang, equals, file = text.partition("=")
    if not equals or not lang or not file:
        raise UserError(f"dictionary {text!r} names no language or no file; write it as de=FILE")
    return lang, Path(file)
