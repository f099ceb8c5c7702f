"""The claims of each paper on this data, with numbers, verdicts and the deciding experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from studies.records import Record
from studies.tables.markdown import table
from studies.tables.results.claims import (
    CONFIRMED,
    REFUTED,
    Claim,
    Side,
    compare,
    liwe,
    smalr,
)
from studies.tables.results.records import Results
from studies.tables.results.sparse import STUDY, chosen_grid

ENGLISH = "flickr8k-ml"  # folder of the runs in English
BEST = "Cos/Sin + BiGRU"
FEW = 300  # captions of the new language


def papers(results: Results) -> str:
    """One line per claim."""
    rows = [
        [name, *claim, f"[{page}]({page}.md)"] for name, (page, of) in PAPERS.items() for claim in of(results)
    ]
    return table(["paper", "claim", "measured", "verdict", "experiment"], rows, left=5)


def _vse_infinity(results: Results) -> list[Claim]:
    sides = [
        Side(label, [run["test"]["languages"]["en"]["rsum"] for run in results.seeds(ENGLISH, row)] or None)
        for label, row in (("`vse_infinity_region`", "vse_infinity_region"), ("`vsepp`", "vsepp"))
    ]
    best = results.get("pooling", "pooling")["best"]["all"]
    generator = Claim(
        f"{BEST} finds weights of known poolings best", best, CONFIRMED if best == BEST else REFUTED
    )
    return [compare("VSE-infinity is better than VSE++, rsum in English", *sides), generator]


def _translator(results: Results) -> list[Claim]:
    """Claims with few captions: mR, the mean over pairs of languages, one number per seed that has all pairs."""

    def pairs(method: str) -> set[tuple[str, str]]:
        return {
            (run["source"], run["target"])
            for run in results.where("transfer", method=method, learnt_from=FEW)
        }

    def side(method: str, label: str, among: set[tuple[str, str]]) -> Side:
        runs = [
            run
            for run in results.where("transfer", method=method, learnt_from=FEW)
            if (run["source"], run["target"]) in among
        ]
        by_seed = [
            [run["result"]["mR"] for run in runs if run["seed"] == seed]
            for seed in sorted({run["seed"] for run in runs})
        ]
        whole = [sum(values) / len(values) for values in by_seed if len(values) == len(among)]
        return Side(label, whole or None)

    def where(among: set[tuple[str, str]]) -> str:
        return f"{FEW} captions, mean of {len(among)} pairs of languages"

    every = pairs("fs")
    controlled = pairs("fs-image") or every
    fs, t1, t2 = (
        side(method, label, every) for method, label in (("fs", "FS"), ("t1", "T1"), ("t2-procrustes", "T2"))
    )
    image = side("fs-image", "FS with the image side", controlled)
    beside = side("t2-procrustes", "T2", controlled)
    return [
        compare(f"A text encoder of another language helps (T1 above FS), {where(every)}", t1, fs),
        compare(f"An aligned start helps further (T2 above T1), {where(every)}", t2, t1),
        compare(f"It is not the image side alone (T2 above FS with it), {where(controlled)}", beside, image),
    ]


def _a3vse(results: Results) -> list[Claim]:
    chosen = chosen_grid(results)
    runs = chosen or results.where(STUDY, study="sparse")
    form = "" if chosen else ", first form"
    where = f"10 % of the pictures, five captions each{form}"

    def side(method: str, label: str) -> Side:
        return Side(label, _sparse_scores(runs, method) or None)

    full = side("a3vse", "A3VSE")
    rivals = {
        "Pseudo captions help": ("no-s", "without them"),
        "Adversaries help": ("no-adversaries", "without them"),
        "Attention helps": ("no-attention", "with a mean"),
        "A3VSE is better than VSE++": ("vsepp", "VSE++"),
        "A3VSE is better than SCAN t2i": ("scan_t2i", "SCAN t2i"),
    }
    return [compare(f"{text}, {where}", full, side(*rival)) for text, rival in rivals.items()]


def _sparse_scores(runs: Sequence[Record], method: str) -> list[float]:
    return [
        run["result"]["mR"]
        for run in runs
        if (run["method"], run["images"], run["per_image"]) == (method, 0.1, 5)
    ]


# Paper -> page of its experiments, and its claims.
PAPERS: dict[str, tuple[str, Callable[[Results], list[Claim]]]] = {
    "LIWE": ("languages", liwe),
    "SMALR": ("languages", smalr),
    "Translator": ("transfer", _translator),
    "A3VSE": ("few-annotations", _a3vse),
    "VSE-infinity": ("pooling", _vse_infinity),
}
