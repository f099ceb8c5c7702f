"""Regions of an ideal detector: the things that at least two people name in the captions of a training picture.

python -m studies ideal-regions DATASET ideal.jsonl --wordnet /usr/share/wordnet
lingvis features detect DATASET --detector regions:ideal.jsonl --name ideal
python -m studies sparse DATASET --methods a3vse pseudo.detections=ideal --out results/sparse/ideal

It reads the captions that the study withholds, so a model trained on it is no result, but an estimate of the gain from a
better detector.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.files import write_text
from lingvis.text.lexicon.wordnet import WordNet, data_lines, read_synsets
from lingvis.text.segment import words
from studies.arguments import make_parser

LANG = "en"
LEAST = 2  # people who name a thing
# Files of WordNet's lexicographers: animals, artifacts, food, natural objects, people, plants.
VISIBLE = {"05", "06", "13", "17", "18", "20"}


def visible_nouns(wordnet: Path) -> set[str]:
    """Nouns whose most frequent meaning is a visible thing."""
    kind = {synset.offset: synset.file for synset in read_synsets(wordnet / "data.noun")}
    visible = set()
    for _, line in data_lines(wordnet / "index.noun"):
        word, *rest = line.split()
        senses = rest[-int(rest[1]) :]
        if kind[senses[0]] in VISIBLE and len(word) > 2:
            visible.add(word)
    return visible


def seen(captions: Sequence[str], nouns: set[str], wordnet: WordNet) -> list[dict[str, Any]]:
    """A region per thing, with its most frequent property; the score is the share of people who name it."""
    named: dict[str, Counter[str]] = {}
    people: Counter[str] = Counter()
    for caption in captions:
        pieces = words(caption, LANG)
        things: dict[str, int] = {}  # in the order of the sentence: the outcome is the same every time
        for before, word in zip(["", *pieces], pieces, strict=False):
            base = next((base for base in wordnet.bases(word, "noun") if base in nouns), None)
            if base is None or wordnet.bases(word, "adj"):  # "white", "young"
                continue
            things[base] = 1
            named.setdefault(base, Counter())
            if len(before) > 2 and wordnet.bases(before, "adj"):
                named[base][before] += 1
        people.update(things)
    regions = []
    for thing, count in people.most_common():
        if count >= LEAST:
            region = {"box": [0, 0, 1, 1], "label": thing, "score": round(count / len(captions), 4)}
            properties = named[thing].most_common(1)
            regions.append(region | ({"attribute": properties[0][0]} if properties else {}))
    return regions


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse and write the regions."""
    parser = make_parser("ideal-regions", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, required=True)
    args = parser.parse_args(arguments)
    nouns, wordnet = visible_nouns(args.wordnet), WordNet(args.wordnet)
    lines, counts = [], Counter[str]()
    for row in Dataset.open(args.dataset).rows:
        regions = seen(row.captions.get(LANG, ()), nouns, wordnet) if row.split == "train" else []
        lines.append(json.dumps({"image": row.image, "regions": regions}))
        counts.update(region["label"] for region in regions)
    write_text(args.out, "".join(f"{line}\n" for line in lines))
    print(f"{sum(counts.values())} things, {len(counts)} different; {dict(counts.most_common(60))}")


if __name__ == "__main__":
    main()
