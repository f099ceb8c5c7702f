"""Tables of learning from few annotations: A3VSE and its rivals, `suggest`, one language annotated."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from tables import read, table

from lingvis.bench.grid_report import mean_spread
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
# The same for all systems with word vectors to start from.
VECTORS = {
    "VSE++": "vsepp-vectors",
    "A3VSE, adversaries x 0.1": "a3vse-vectors-weight-0.1",
    "A3VSE, adversaries x 0.03": "a3vse-vectors-weight-0.03",
    "A3VSE, adversaries x 0.03, learning rate 5e-5": "a3vse-vectors-lr-5e-5",
    "A3VSE, adversaries x 0.01": "a3vse-vectors-weight-0.01",
    "A3VSE, no s": "a3vse-vectors-no-s",
}


# The records of a small model with 10, 20 and 50 % of the pictures.
SMALL = {
    "no s, temperature 0.05": ("no-s-10", "no-s-20", "no-s-50"),
    "adversaries x 0.1, temperature 1": (None, "t1-20", None),
    "adversaries x 0.1, temperature 0.05": ("weight-0.1-10", "weight-0.1-20", "weight-0.1-50"),
    "adversaries x 0.03, temperature 0.05": (None, None, "weight-0.03-50"),
    "adversaries x 0.01, temperature 0.05": (None, None, "weight-0.01-50"),
    "adversaries x 0.3, temperature 0.05": ("weight-0.3-10", None, None),
    "adversaries x 1, temperature 0.05": ("weight-1-10", None, None),
    "adversaries x 0.1, temperature 0.05, s and tags of the picture": ("both-10", None, None),
    "adversaries x 0.1, temperature 0.05, s of an ideal detector": ("ideal-10", None, None),
}


def sparse(folder: Path) -> str:
    """Tables 1 and 5 of the paper."""
    records = [read(file) for file in sorted(folder.glob("runs/*.json"))]
    if not records:
        return PENDING
    parts = [table(*sparse_table(records), left=3)]
    head, rows = ablation_table(records)
    return "\n\n".join([*parts, table(head, rows)] if rows else parts)


def sparse_gap(folder: Path) -> str:
    """What captions by better detectors would bring: test mR, mean and deviation over seeds."""
    columns = {
        "no s": ("runs", "no-s"),
        "s of EfficientDet-Lite2": ("runs", "a3vse"),
        "s of an ideal detector": ("ideal/runs", "a3vse"),
    }
    rows = [
        [
            f"flickr8k-ml, {share:.0%} of the pictures",
            *(_cell(folder / part, name, share) for part, name in columns.values()),
        ]
        for share in (0.1, 0.2)
    ]
    rows += [
        [
            f"demo scenes, {share:.0%} of the pictures",
            _cell(folder / "scenes/runs", "no-s", share),
            "",
            _cell(folder / "scenes/runs", "a3vse", share),
        ]
        for share in (0.1, 0.2)
    ]
    return table(["A3VSE, all captions of", *columns], rows)


def _cell(folder: Path, method: str, share: float) -> str:
    found = [read(file)["result"]["mR"] for file in sorted(folder.glob(f"{method}-{share:g}x[35]-?.json"))]
    return mean_spread(found)


def sparse_choice(folder: Path) -> str:
    """What was tried on val before the study."""
    rows = []
    for start, tried in (("random", CHOICE), ("word vectors", VECTORS)):
        for label, name in tried.items():
            runs = read(folder / "validation" / f"{name}.json")["runs"]
            epochs = ", ".join(str(run["training"]["best_epoch"]) for run in runs)
            rows.append([label, start, mean_spread([_best(run) for run in runs]), epochs])
    return table(["system", "words start", "mR on val", "best epoch"], rows)


def sparse_temperature(folder: Path) -> str:
    """A small A3VSE on val with two temperatures of its attention, and with stronger adversaries."""
    rows = []
    for label, names in SMALL.items():
        runs = [
            read(folder / "validation" / "small" / f"{name}.json")["runs"][0] if name else None
            for name in names
        ]
        rows.append([label, *(f"{_best(run):.1f}" if run else "" for run in runs)])
    return table(["A3VSE with 128 dimensions, mR on val", "10 %", "20 %", "50 %"], rows)


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
    labels = {
        "20": "20 % of the pictures in English, captions by detectors",
        "alone": "20 % of the pictures in English",
        "taught": "20 % of the pictures in English, two teachers",
        "all": "all pictures in all five",
    }
    found = {name: read(folder / f"lingvis_sparse-{name}.json") for name in labels}
    whole = _mean(found["all"])
    rows = [
        [
            label,
            str(len(found[name]["runs"])),
            *_languages(found[name]),
            f"{_mean(found[name]) / whole:.0%}",
        ]
        for name, label in labels.items()
    ]
    languages = list(found["all"]["runs"][0]["test"]["languages"])
    diagnosis = {
        "English, captions by detectors": found["20"],
        "English": found["alone"],
        "English, one teacher": read(folder / "validation" / "lingvis_sparse-one-teacher.json"),
        "English, two teachers": found["taught"],
        "all five languages": read(folder / "validation" / "lingvis_sparse-all-languages.json"),
    }
    why = [[label, f"{_best(record['runs'][0]):.1f}"] for label, record in diagnosis.items()]
    return (
        table(["annotated", "seeds", *languages, "mean", "of all"], rows)
        + "\n\n"
        + table(["20 % of the pictures, seed 0", "mR on val"], why)
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
