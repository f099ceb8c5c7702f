"""Words of the training captions that a folder of dictionaries translates, and the accuracy of each rule of choice.

python -m studies dictionaries DATASET FOLDER
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.text.dictionaries import find_dictionaries
from lingvis.text.segment import words
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

RARE = 20  # occurrences in the training captions


def hits(dataset: Dataset, lang: str, chosen: Mapping[str, str], counts: Counter[str]) -> dict[str, int]:
    """Rare words with a translation in the parallel sentences of split train, and those whose English sentence has it."""
    translated = total = 0
    for row in dataset.rows:
        if row.split == "train" and lang in row.parallel and "en" in row.parallel:
            english = set(words(row.parallel["en"], "en"))
            rare = [w for w in words(row.parallel[lang], lang) if w in chosen and counts[w] <= RARE]
            total += len(rare)
            translated += sum(chosen[word] in english for word in rare)
    return {"words": total, "in_english_sentence": translated}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, count, append the record."""
    parser = make_parser("dictionaries", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("folder", type=Path)
    add_out(parser, "results/dictionaries")
    args = parser.parse_args(arguments)
    dataset = Dataset.open(args.dataset)
    captions = dataset.captions("train")
    counts: dict[str, Counter[str]] = {lang: Counter() for lang in dataset.languages}
    for text, lang in zip(captions.texts, captions.langs, strict=True):
        counts[lang].update(words(text, lang))
    others = [lang for lang in counts if lang != "en"]
    rules = {
        "first": find_dictionaries(args.folder, others),
        "known": find_dictionaries(args.folder, others, counts=dict.fromkeys(counts["en"], 1)),
        "frequent": find_dictionaries(args.folder, others, counts=counts["en"]),
    }
    languages: dict[str, Any] = {}
    for lang, chosen in rules["frequent"].items():
        count_of = counts[lang]
        covered = [word for word in count_of if word in chosen]
        languages[lang] = {
            "different_words": len(covered) / len(count_of),
            "all_words": sum(count_of[word] for word in covered) / count_of.total(),
            "rules": {name: hits(dataset, lang, rule[lang], count_of) for name, rule in rules.items()},
        }
    record = {
        "name": "coverage",
        "study": "dictionaries",
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        **origin(),
        "split": "train",
        "dictionaries": sorted(file.name for file in args.folder.iterdir() if file.is_file()),
        "languages": languages,
    }
    append(args.out / RUNS, record)


if __name__ == "__main__":
    main()
