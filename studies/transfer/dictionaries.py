"""How many words of the training captions a folder of dictionaries translates, and how well each rule chooses.

python benchmarks/dictionaries.py DATASET FOLDER --out results/dictionaries/coverage.json
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.files import write_json
from lingvis.text.dictionaries import find_dictionaries
from lingvis.text.segment import words

RARE = 20  # occurrences in the training captions


def hits(dataset: Dataset, lang: str, chosen: Mapping[str, str], counts: Counter[str]) -> dict[str, int]:
    """Rare words with a translation in the parallel training sentences, and those whose English sentence has it."""
    found = total = 0
    for row in dataset.rows:
        if row.split == "train" and lang in row.parallel and "en" in row.parallel:
            english = set(words(row.parallel["en"], "en"))
            rare = [w for w in words(row.parallel[lang], lang) if w in chosen and counts[w] <= RARE]
            total += len(rare)
            found += sum(chosen[word] in english for word in rare)
    return {"words": total, "in_english_sentence": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
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
        own = counts[lang]
        covered = [word for word in own if word in chosen]
        languages[lang] = {
            "different_words": len(covered) / len(own),
            "all_words": sum(own[word] for word in covered) / own.total(),
            "rules": {name: hits(dataset, lang, rule[lang], own) for name, rule in rules.items()},
        }
    record = {
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "lingvis": lingvis.__version__,
        "split": "train",
        "dictionaries": sorted(file.name for file in args.folder.iterdir() if file.is_file()),
        "languages": languages,
    }
    write_json(args.out, record)


if __name__ == "__main__":
    main()
