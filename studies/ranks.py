"""Ranks by counting against a loop that sorts for every query: time, memory, and whether they agree.

python -m studies ranks
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Bools, Floats, Ints
from lingvis.cli.output import print_json
from lingvis.evaluation.ranks import TOLERANCE, Ranks, ranks
from lingvis.evaluation.scorers import EVERY, InnerProduct, ScoreMatrix
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, check_writable, origin

SEED = 0
REPEATS = 3
# Share of its image in a caption's vector: ranks like those of a trained model, neither 1 nor random.
SIGNAL = 0.1
FULL_LOOP_SECONDS = 180.0


def run_rank_study(
    out: Path, *, images: int = 5000, texts: int = 25000, dim: int = 1024, loop_queries: int = 500
) -> dict[str, Any]:
    """Measure in a fresh process, append the record in folder `out`, and return it.

    The loop is timed on `loop_queries` queries per direction, and on all of them if that takes less than three
    minutes. Counting is timed before and after it; its result is the median, and the times of all runs show whether
    other work disturbed them.
    """
    check_writable(out)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        result = fresh.submit(_measure, images, texts, dim, loop_queries).result()
    append(out / RUNS, result)
    return result


def _measure(images: int, texts: int, dim: int, loop_queries: int) -> dict[str, Any]:
    load = os.getloadavg()[0]
    image_emb, text_emb, image_of = _inputs(images, texts, dim)
    before = _memory("VmRSS")

    def count() -> Ranks:
        return ranks(InnerProduct(image_emb, text_emb), image_of)

    seconds, counted = _timed(count, REPEATS)
    above = None if before is None else (_memory("VmHWM") or before) - before

    rng = np.random.default_rng(SEED + 1)
    i_queries = np.sort(rng.choice(images, size=min(loop_queries, images), replace=False))
    t_queries = np.sort(rng.choice(texts, size=min(loop_queries, texts), replace=False))
    loop = _time_loop(image_emb, text_emb, image_of, i_queries, t_queries)
    checked = _agreement(counted, loop["ranks"], image_emb, text_emb, image_of, i_queries, t_queries)
    loop_seconds = {"extrapolated": loop["seconds"]}
    if loop["seconds"] < FULL_LOOP_SECONDS:
        i_queries, t_queries = np.arange(images), np.arange(texts)
        loop = _time_loop(image_emb, text_emb, image_of, i_queries, t_queries)
        checked = _agreement(counted, loop["ranks"], image_emb, text_emb, image_of, i_queries, t_queries)
        loop_seconds["all_queries"] = loop["seconds"]
    seconds += _timed(count, REPEATS)[0]
    made = origin()
    made["hardware"] |= {"blas": _blas(), "load_before": load}
    return {
        "name": "ranks",
        "study": "ranks",
        "benchmark": "ranks of both directions from embeddings",
        "images": images,
        "texts": texts,
        "dim": dim,
        "seed": SEED,
        "counting": {
            "seconds": median(seconds),
            "seconds_of_first_run": seconds[0],
            "seconds_of_fastest_run": min(seconds),
            "seconds_of_each_run": seconds,
            "peak_mb_above_inputs": above,
            "inputs_mb": (image_emb.nbytes + text_emb.nbytes) / 1e6,
        },
        "loop": {"queries_timed_per_direction": loop_queries, "seconds": loop_seconds},
        "times_faster": loop["seconds"] / median(seconds),
        "agreement": checked,
        "scores_given": _scores_given(image_emb, text_emb, image_of),
        **made,
    }


def _inputs(images: int, texts: int, dim: int) -> tuple[Floats, Floats, Ints]:
    """Unit vectors; captions in random order, at least one and otherwise a random number per image."""
    rng = np.random.default_rng(SEED)
    image_of = rng.permutation(np.concatenate([np.arange(images), rng.integers(images, size=texts - images)]))
    image_emb = rng.standard_normal((images, dim), dtype=np.float32)
    text_emb = rng.standard_normal((texts, dim), dtype=np.float32)
    for start in range(0, images, 1000):
        part = image_emb[start : start + 1000]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    for start in range(0, texts, 1000):  # in parts: ranking, not this, must cause the peak of memory
        part = text_emb[start : start + 1000]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        part += SIGNAL * image_emb[image_of[start : start + 1000]]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return image_emb, text_emb, image_of.astype(np.int64)


def _timed(work: Callable[[], Ranks], repeats: int) -> tuple[list[float], Ranks]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return seconds, result


def _sorted_rank(scores: Floats, right: Bools) -> int:
    """The place of the first correct answer in the sorted list."""
    return int(np.flatnonzero(right[np.argsort(scores)[::-1]])[0])


def _time_loop(
    image_emb: Floats, text_emb: Floats, image_of: Ints, i_queries: Ints, t_queries: Ints
) -> dict[str, Any]:
    """Score and sort for every query; the seconds are scaled up to all queries of a direction."""
    start = time.perf_counter()
    i2t = [_sorted_rank(text_emb @ image_emb[i], image_of == i) for i in i_queries]
    middle = time.perf_counter()
    every = np.arange(len(image_emb))
    t2i = [_sorted_rank(image_emb @ text_emb[t], every == image_of[t]) for t in t_queries]
    end = time.perf_counter()
    seconds = (middle - start) * len(image_emb) / len(i_queries)
    seconds += (end - middle) * len(text_emb) / len(t_queries)
    return {"seconds": seconds, "ranks": Ranks(np.asarray(i2t), np.asarray(t2i))}


def _agreement(
    counted: Ranks,
    looped: Ranks,
    image_emb: Floats,
    text_emb: Floats,
    image_of: Ints,
    i_queries: Ints,
    t_queries: Ints,
) -> dict[str, int]:
    """The number of queries with the same rank and of those that differ by ties; any other difference raises."""
    differ_i = i_queries[counted.i2t[i_queries] != looped.i2t]
    differ_t = t_queries[counted.t2i[t_queries] != looped.t2i]
    for i in differ_i:
        _must_be_tie(text_emb @ image_emb[i].astype(np.float64), image_of == i, int(counted.i2t[i]))
    for t in differ_t:
        right = np.arange(len(image_emb)) == image_of[t]
        _must_be_tie(image_emb @ text_emb[t].astype(np.float64), right, int(counted.t2i[t]))
    differ = len(differ_i) + len(differ_t)
    checked = len(i_queries) + len(t_queries)
    return {"queries_checked": checked, "equal": checked - differ, "differ_by_ties_only": differ}


def _must_be_tie(scores: NDArray[np.float64], right: Bools, counted: int) -> None:
    best, wrong = scores[right].max(), scores[~right]
    least, most = (wrong > best + 2 * TOLERANCE).sum(), (wrong >= best - 2 * TOLERANCE).sum()
    if not least <= counted <= most:
        raise RuntimeError(f"counting gave rank {counted}, sorting allows {least} to {most}")


def _scores_given(image_emb: Floats, text_emb: Floats, image_of: Ints) -> dict[str, float]:
    """The same comparison with scores already computed, on the first 1,000 images and their captions."""
    some = min(1000, len(image_emb))
    texts = np.flatnonzero(image_of < some)
    image_of_text = image_of[texts]
    scores = InnerProduct(image_emb[:some], text_emb[texts]).block(EVERY, EVERY)
    by_text = np.ascontiguousarray(scores.T)
    rows, columns = np.arange(some), np.arange(len(texts))
    counting, _ = _timed(lambda: ranks(ScoreMatrix(scores), image_of_text), REPEATS)
    start = time.perf_counter()
    for i in rows:
        _sorted_rank(scores[i], image_of_text == i)
    for t in columns:
        _sorted_rank(by_text[t], rows == image_of_text[t])
    loop = time.perf_counter() - start
    return {
        "images": some,
        "texts": len(texts),
        "counting_seconds": median(counting),
        "loop_seconds": loop,
        "times_faster": loop / median(counting),
    }


def _memory(field: str) -> float | None:
    """VmRSS (memory now) or VmHWM (its peak) of this process in MB, None if the system does not report it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, print."""
    parser = make_parser("ranks", __doc__)
    add_out(parser, "results/ranks")
    print_json(run_rank_study(parser.parse_args(arguments).out))


if __name__ == "__main__":
    main()
