"""Labels of detectors -> tables of their translations, from dictionaries and what a user wrote into them."""

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
    """How well a language is served; covered: the share of all labels in the pictures that have a translation."""

    lang: str
    file: Path
    labels: int
    missing: list[str]
    covered: float

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self) | {"file": str(self.file)}


def translate_labels(
    dataset: Dataset,
    *,
    dictionaries: Sequence[str] = (),
    languages: Sequence[str] | None = None,
    detections: str | None = None,
) -> list[LabelTable]:
    """Write labels/LANG.csv for each language: lines that are there stay, the most frequent labels come first.

    dictionaries: `de=FILE`, from English. A label is looked up as a whole; of several translations the one whose
    words are most frequent in the captions of that language is taken, and the first of equals.
    """
    counts = label_counts(dataset.with_regions(detections).rows)
    if not counts:
        raise UserError(
            f"{dataset.path} has no regions with labels; make them with: "
            f"lingvis features detect {dataset.path} --detector DETECTOR"
        )
    files = dict(_pair(text) for text in dictionaries)
    wanted = languages or [lang for lang in dataset.languages if lang != LABEL_LANGUAGE]
    useless = [lang for lang in files if lang not in wanted]
    if useless:
        raise UserError(
            f"there is a dictionary for {', '.join(useless)}, but the languages are {', '.join(wanted)}"
        )
    read = {lang: read_dictionary(file) for lang, file in files.items()}
    return [_write(dataset, lang, counts, read.get(lang, {})) for lang in wanted]


def _write(
    dataset: Dataset, lang: str, counts: Counter[str], dictionary: Mapping[str, Sequence[str]]
) -> LabelTable:
    file = table_file(dataset, lang)
    old = read_label_table(file) if file.is_file() else {}
    spoken = Counter(
        word for row in dataset.rows for text in row.captions.get(lang, ()) for word in words(text, lang)
    )
    labels = [label for label, _ in counts.most_common()]
    found = {label: old.get(label) or _choose(label, lang, dictionary, spoken) for label in labels}
    table = old | found
    if table != old:
        write_label_table(file, {label: table[label] for label in [*labels, *(old.keys() - counts.keys())]})
    missing = [label for label in labels if not found[label]]
    share = 1 - sum(counts[label] for label in missing) / counts.total()
    return LabelTable(lang, file, len(labels), missing, share)


def _choose(label: str, lang: str, dictionary: Mapping[str, Sequence[str]], spoken: Mapping[str, int]) -> str:
    """The translation of a label whose rarest word is the most frequent in captions."""
    found = dictionary.get(normalised(label), ())
    return max(
        found, key=lambda each: min((spoken.get(w, 0) for w in words(each, lang)), default=0), default=""
    )


def _pair(text: str) -> tuple[str, Path]:
    lang, equals, file = text.partition("=")
    if not equals or not lang or not file:
        raise UserError(f"dictionary {text!r} lacks a language; write it as de=FILE")
    return lang, Path(file)
