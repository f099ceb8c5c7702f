"""From a typed sentence to ten results: language detection, encoding and search."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from lingvis.collection.binding import describe
from lingvis.collection.collection import Collection
from lingvis.collection.stores.open import create_store
from lingvis.model.encoder import load_encoder
from lingvis.pretrained import find_model
from lingvis.progress import ProgressBar
from studies.records import RUNS, Record, append
from studies.search.conditions import conditions, earlier
from studies.search.data import CHUNK, Clustered, make_items
from studies.search.measure import milliseconds
from studies.search.model import sentences

COUNT, K, WARM_UP, SEED = 200, 10, 10, 0
ALLOWED_MS = 25.0


def run_typed_study(
    out: Path, *, pictures: int = 1_000_000, model: Path | None = None, work: Path | None = None
) -> Record:
    """Fill a collection, search it in a fresh process, append the record in folder `out` and return it.

    model: lingvis-base by default.
    """
    run = find_model(model)
    about = conditions(
        benchmark="from a typed sentence to ten results",
        pictures=pictures,
        model=run.name,
        seed=SEED,
    )
    if (stored := earlier(out, "typed", about)) is not None:
        return stored
    with tempfile.TemporaryDirectory(dir=work, prefix="lingvis-study-") as folder:
        collection = Path(folder) / "collection.lv"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            fresh.submit(fill_collection, str(collection), run, pictures).result()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            times = fresh.submit(_search, collection).result()
    record = {"name": "typed", "study": "search", **about, **times, "allowed_p95_ms": ALLOWED_MS}
    append(out / RUNS, record)
    return record


def fill_collection(address: str, run: Path, pictures: int) -> None:
    """Make a collection of made-up pictures that belongs to a model."""
    embedder = load_encoder(run, device="cpu")
    store = create_store(address, describe(embedder, run))
    with store.writing(), ProgressBar("fill a collection", pictures) as bar:
        for number, chunk in enumerate(Clustered(pictures, embedder.dim, seed=SEED).chunks()):
            store.upsert(make_items(chunk, number * CHUNK))
            bar.advance(len(chunk))
        store.maintain()


def _search(collection: Path) -> dict[str, Any]:
    began = time.perf_counter()
    opened = Collection.open(collection, device="cpu")
    queries = sentences(opened.model.languages, COUNT + WARM_UP)
    warm, queries = queries[:WARM_UP], queries[WARM_UP:]
    opened.search(warm[0], k=K)
    first = time.perf_counter() - began
    for sentence in warm:
        opened.search(sentence, k=K)
    whole, results = [], 0
    for sentence in queries:
        began = time.perf_counter()
        results += len(opened.search(sentence, k=K))
        whole.append(time.perf_counter() - began)
    encoding = []
    for sentence in queries:  # again, for the share of encoding; by now the model knows the words
        began = time.perf_counter()
        opened.model.encode_texts([sentence], opened.language_of(sentence))
        encoding.append(time.perf_counter() - began)
    return {
        "sentences": len(queries),
        "languages": len(opened.model.languages),
        "results": results,
        "opened_and_first_answer_seconds": round(first, 2),
        "ms": milliseconds(whole),
        "of_these_to_encode_ms": milliseconds(encoding),
    }
