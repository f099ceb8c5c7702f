"""Tables of learning from few annotations: A3VSE and its rivals, `suggest`, one language annotated."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from tables import read, table

from lingvis.bench.sparse_report import ablation_table, sparse_table

PENDING = "Not measured yet."
# Label of a row and its record, all on val.
CHOICE = {
    "VSE++": "vsepp",
    "VSE-infinity": "vse_infinity_region",
    "SCAN t2i": "scan_t2i",
    "SCAN t2i, all negatives in epoch 1": "scan_t2i-warmup",
    "A3VSE, adversaries x 1": "a3vse-weight-1",
    "A3VSE, adversaries x 1, learning rate 5e-5": "a3vse-weight-1-lr-5e-5",
    "A3VSE, adversaries x 1, intra-modal alone": "a3vse-weight-1-intra",
    "A3VSE, adversaries x 0.1": "a3vse-weight-0.1",
    "A3VSE, adversaries x 0.01": "a3vse-weight-0.01",
    "A3VSE without adversaries": "a3vse-no-adversaries",
    "A3VSE, no s": "a3vse-no-s",
}


def sparse(folder: Path) -> str:
    """Tables 1 and 5 of the paper."""
    records = [read(file) for file in sorted(folder.glob("runs/*.json"))]
    if not records:
        return PENDING
    parts = [table(*sparse_table(records), left=3)]
    head, rows = ablation_table(records)
    return "\n\n".join([*parts, table(head, rows)] if rows else parts)


def sparse_choice(folder: Path) -> str:
    """What was tried on val before the study."""
    rows = []
    for label, name in CHOICE.items():
        (run,) = read(folder / "validation" / f"{name}.json")["runs"]
        rows.append([label, f"{_best(run):.1f}", str(run["training"]["best_epoch"])])
    return table(["system", "mR on val", "best epoch"], rows)


def suggestion(folder: Path) -> str:
    """A suggested choice of pictures against a random one."""
    record = read(folder / "suggest.json")
    rows = [
        [way, *(f"{value:.1f}" for value in values), f"{statistics.mean(values):.1f}"]
        for way, values in record["mR"].items()
    ]
    seeds = [f"seed {run['seed']}" for run in record["runs"]["random"]]
    made = table([f"`{record['recipe']}`, {record['images']:.0%} of the pictures", *seeds, "mean"], rows)
    return (
        f"{made}\n\n{record['verdict'].capitalize()}: {record['margin']:+.2f}, spread {record['spread']:.2f}."
    )


def one_language(folder: Path) -> str:
    """`lingvis_sparse` with a fifth of the pictures, and with all."""
    few, all_of_them = (read(folder / f"lingvis_sparse-{name}.json") for name in ("20", "all"))
    rows = [
        [label, *_languages(record)]
        for label, record in (("20 % of the pictures, English alone", few), ("all, in all five", all_of_them))
    ]
    languages = list(few["runs"][0]["test"]["languages"])
    share = _mean(few) / _mean(all_of_them)
    diagnosis = {
        "English alone, captions by detectors": few,
        "English alone, none by detectors": read(folder / "validation" / "lingvis_sparse-no-pseudo.json"),
        "all five languages, none by detectors": read(
            folder / "validation" / "lingvis_sparse-all-languages.json"
        ),
    }
    why = [[label, f"{_best(record['runs'][0]):.1f}"] for label, record in diagnosis.items()]
    return (
        table(["annotated, test mR", *languages, "mean"], rows)
        + f"\n\n{share:.0%} of the mR with all annotations; {len(few['runs'])} seed.\n\n"
        + table(["20 % of the pictures", "mR on val"], why)
    )


def _languages(record: Any) -> list[str]:
    found = [run["test"]["languages"] for run in record["runs"]]
    means = [statistics.mean(each[lang]["mR"] for each in found) for lang in found[0]]
    return [*(f"{value:.1f}" for value in means), f"{_mean(record):.1f}"]


def _mean(record: Any) -> float:
    runs = [[float(each["mR"]) for each in run["test"]["languages"].values()] for run in record["runs"]]
    return statistics.mean(map(statistics.mean, runs))


def _best(run: Any) -> float:
    return max(float(mean) for _, mean, _ in run["validation"])
