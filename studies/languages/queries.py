"""Speed of the text side of a trained model on a CPU: many short queries at once, and one at a time.

python -m studies queries RUN DATASET
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.model.embedder import Embedder
from lingvis.text.segment import words
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

MOST_WORDS = 8
QUERIES = 4000
SINGLE = 500


def short_queries(dataset: Dataset, languages: list[str]) -> tuple[list[str], list[str]]:
    """Distinct short captions of all languages from split val, and the language of each."""
    captions = dataset.captions("val", languages)
    pairs = dict.fromkeys(zip(captions.texts, captions.langs, strict=True))
    short = [(text, lang) for text, lang in pairs if len(words(text, lang)) <= MOST_WORDS]
    step = max(1, len(short) // QUERIES)
    chosen = short[::step][:QUERIES]
    return [text for text, _ in chosen], [lang for _, lang in chosen]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("queries", __doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("dataset", type=Path)
    add_out(parser, "results/languages")
    args = parser.parse_args(arguments)
    model = Embedder.load(args.run, device="cpu")
    texts, langs = short_queries(Dataset.open(args.dataset), model.languages)
    rates = []
    for _ in range(5):  # the first round also composes the words, which later rounds look up
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
    made = origin()
    record = {
        "name": "queries",
        "study": "queries",
        "model": model.name,
        **made,
        "cores": made["hardware"]["cores"],
        "queries": f"{len(texts)} distinct captions of at most {MOST_WORDS} words, split val, all languages",
        "first_queries_per_s": rates[0],
        "batch_queries_per_s": statistics.median(rates[1:]),
        "single_ms_median": statistics.median(times),
        "single_ms_p95": times[int(0.95 * len(times))],
        "text_parameters": model.parameters["text"],
    }
    append(args.out / RUNS, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
