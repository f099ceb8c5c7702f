"""How fast the text side of a trained model is on a CPU: many short queries at once, and one at a time.

python benchmarks/queries.py RUN DATASET --out results/languages/queries.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.model.embedder import Embedder
from lingvis.text.segment import words

MOST_WORDS = 8
QUERIES = 4000
SINGLE = 500


def short_queries(dataset: Dataset, languages: list[str]) -> tuple[list[str], list[str]]:
    """Distinct captions of few words, of the languages in turn, from the validation split."""
    found = dataset.captions("val", languages)
    pairs = dict.fromkeys(zip(found.texts, found.langs, strict=True))
    short = [(text, lang) for text, lang in pairs if len(words(text, lang)) <= MOST_WORDS]
    step = max(1, len(short) // QUERIES)
    chosen = short[::step][:QUERIES]
    return [text for text, _ in chosen], [lang for _, lang in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    model = Embedder.load(args.run, device="cpu")
    texts, langs = short_queries(Dataset.open(args.dataset), model.languages)
    rates = []
    for _ in range(5):  # the first round also composes the words, which later ones look up
        began = time.perf_counter()
        model.encode_texts(texts, langs)
        rates.append(len(texts) / (time.perf_counter() - began))
    fresh = Embedder.load(args.run, device="cpu")
    times = []
    for text, lang in zip(texts[:SINGLE], langs[:SINGLE], strict=True):
        began = time.perf_counter()
        fresh.encode_texts([text], lang)
        times.append(1000 * (time.perf_counter() - began))
    times.sort()
    record = {
        "model": model.name,
        "lingvis": lingvis.__version__,
        "hardware": describe_hardware(),
        "cores": describe_hardware()["cores"],
        "queries": f"{len(texts)} distinct captions of at most {MOST_WORDS} words, split val, all languages",
        "first_queries_per_s": rates[0],
        "batch_queries_per_s": statistics.median(rates[1:]),
        "single_ms_median": statistics.median(times),
        "single_ms_p95": times[int(0.95 * len(times))],
        "text_parameters": model.parameters["text"],
    }
    write_json(args.out, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
