"""From a typed sentence to ten results: language detection, the text side of a model and the search together."""

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
from lingvis.files import write_json
from lingvis.model.embedder import Embedder
from lingvis.progress import ProgressBar
from studies.search.data import CHUNK, Clustered, make_items
from studies.search.measure import milliseconds
from studies.search.model import make_untrained, sentences
from studies.search.records import conditions, earlier

COUNT, K, WARM_UP, SEED = 200, 10, 10, 0
ALLOWED_MS = 50.0


def run_typed_benchmark(
    out: Path, *, pictures: int = 100_000, model: Path | None = None, work: Path | None = None
) -> dict[str, Any]:
    """Fill a collection, ask in a fresh process, write typed.json in folder `out`; give back what it holds.

    model: an untrained one of recipe `lingvis` by default; it costs as much as a trained one.
    """
    same = conditions(
        benchmark="from a typed sentence to ten results",
        pictures=pictures,
        model="untrained, recipe lingvis" if model is None else model.resolve().name,
        seed=SEED,
    )
    if (found := earlier(out / "typed.json", same)) is not None:
        return found
    with tempfile.TemporaryDirectory(dir=work, prefix="lingvis-bench-") as folder:
        run = model or make_untrained(Path(folder) / "untrained")
        collection = Path(folder) / "collection.lv"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            fresh.submit(fill_collection, str(collection), run, pictures).result()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            asked = fresh.submit(_ask, collection).result()
    record = {**same, **asked, "allowed_p95_ms": ALLOWED_MS}
    write_json(out / "typed.json", record)
    return record


def fill_collection(address: str, run: Path, pictures: int) -> None:
    """A collection of made-up pictures that the model may search."""
    embedder = Embedder.load(run, device="cpu")
    store = create_store(address, describe(embedder, run))
    with store.writing(), ProgressBar("fill a collection", pictures) as bar:
        for number, chunk in enumerate(Clustered(pictures, embedder.dim, seed=SEED).chunks()):
            store.upsert(make_items(chunk, number * CHUNK))
            bar.advance(len(chunk))
        store.maintain()


def _ask(collection: Path) -> dict[str, Any]:
    began = time.perf_counter()
    opened = Collection.open(collection, device="cpu")
    asked = sentences(opened.model.languages, COUNT + WARM_UP)
    warm, asked = asked[:WARM_UP], asked[WARM_UP:]
    opened.search(warm[0], k=K)
    first = time.perf_counter() - began
    for sentence in warm:
        opened.search(sentence, k=K)
    whole, found = [], 0
    for sentence in asked:
        began = time.perf_counter()
        found += len(opened.search(sentence, k=K))
        whole.append(time.perf_counter() - began)
    encoding = []
    for sentence in asked:  # once more, to tell the parts; by now the model knows the words
        began = time.perf_counter()
        opened.model.encode_texts([sentence], opened.language_of(sentence))
        encoding.append(time.perf_counter() - began)
    return {
        "sentences": len(asked),
        "languages": len(opened.model.languages),
        "results": found,
        "opened_and_first_answer_seconds": round(first, 2),
        "ms": milliseconds(whole),
        "of_these_to_embed_ms": milliseconds(encoding),
        "text_parameters": opened.model.parameters["text"],
    }
