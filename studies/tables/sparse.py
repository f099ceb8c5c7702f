"""Tables of learning from few annotations: A3VSE and its rivals, `suggest`, one language annotated."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from studies.grid_report import mean_spread
from studies.sparse.report import ablation_table, sparse_table
from studies.tables.markdown import read, table

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

# Rows on val with temperature 0.05.
WEIGHTS = {
    "A3VSE, no s": "no-s",
    "A3VSE, adversaries x 0.01": "weight-0.01",
    "A3VSE, adversaries x 0.03": "weight-0.03",
    "A3VSE, adversaries x 0.1": "weight-0.1",
    "VSE++": "vsepp",
    "VSE-infinity": "vse_infinity_region",
    "SCAN t2i": "scan_t2i",
}
PATIENCE = 6
# What captions by detectors are made of, and where the runs lie: the study's, or records on val alone.
SEMANTICS = {
    "no s": "runs/no-s",
    "regions of EfficientDet-Lite2": "runs/a3vse",
    "tags of EfficientNet-lite0": "validation/s/global",
    "both": "validation/s/raw",
    "both, words in use instead of the names": "validation/s/low",
    "both, words in use beside the names": "validation/s/special",
    "the same by `features join` as it is now": "joined/runs/a3vse",
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
    """What captions by better detectors bring: test mR, mean and deviation over seeds."""
    columns = {
        "no s": ("runs", "no-s"),
        "s of EfficientDet-Lite2": ("runs", "a3vse"),
        "s joined with tags": ("joined/runs", "a3vse"),
        "s of an ideal detector": ("ideal/runs", "a3vse"),
        "VSE++": ("runs", "vsepp"),
        "VSE-infinity": ("runs", "vse_infinity_region"),
        "SCAN t2i": ("runs", "scan_t2i"),
    }
    rows = [
        [
            f"flickr8k-ml, {share:.0%} x {count}",
            *(_cell(folder / part, name, share, count) for part, name in columns.values()),
        ]
        for share in (0.1, 0.2)
        for count in (1, 2, 5)
    ]
    scenes = {"no s": "no-s", "s of an ideal detector": "a3vse", "VSE++": "vsepp"}
    rows += [
        [
            f"demo scenes, {share:.0%} x 3",
            *(
                _cell(folder / "scenes/runs", scenes[name], share, 3) if name in scenes else ""
                for name in columns
            ),
        ]
        for share in (0.1, 0.2)
    ]
    return table(["pictures x captions", *columns], rows)


def sparse_short(folder: Path) -> str:
    """Five captions of 10 and 20 % of the pictures, for those who want to know which system to take."""
    systems = {
        "VSE++": ("runs", "vsepp"),
        "VSE-infinity": ("runs", "vse_infinity_region"),
        "SCAN t2i": ("runs", "scan_t2i"),
        "A3VSE without captions by detectors": ("runs", "no-s"),
        "A3VSE, captions by EfficientDet-Lite2": ("runs", "a3vse"),
        "A3VSE, captions by EfficientDet-Lite2 and a classifier (`features join`)": ("joined/runs", "a3vse"),
    }
    rows = [
        [label, *(_cell(folder / part, name, share, 5) for share in (0.1, 0.2))]
        for label, (part, name) in systems.items()
    ]
    return table(["system", "10 % of the pictures annotated", "20 %"], rows)


def _cell(folder: Path, method: str, share: float, count: int) -> str:
    files = sorted(folder.glob(f"{method}-{share:g}x{count}-?.json"))
    return mean_spread([read(file)["result"]["mR"] for file in files])


def sparse_choice(folder: Path) -> str:
    """What was tried on val before the study."""
    rows = []
    for start, tried in (("random", CHOICE), ("word vectors", VECTORS)):
        for label, name in tried.items():
            runs = read(folder / "validation" / f"{name}.json")["runs"]
            epochs = ", ".join(str(run["training"]["best_epoch"]) for run in runs)
            rows.append([label, start, mean_spread([_best(run) for run in runs]), epochs])
    return table(["system", "words start", "mR on val", "best epoch"], rows)


def sparse_weights(folder: Path) -> str:
    """How strong the adversaries may be, on val; where patience had ended a run too soon, its mR in brackets."""
    rows = []
    for label, name in WEIGHTS.items():
        files = [
            folder / "validation/temperature-0.05" / f"{name}-{share}.json" for share in ("0.1", "0.2", "0.5")
        ]
        rows.append([label, *(_patient(read(file)["runs"][0]) if file.is_file() else "" for file in files)])
    return table(["mR on val", "10 %", "20 %", "50 %"], rows)


def _patient(run: Any) -> str:
    means = [float(mean) for _, mean, _ in run["validation"]]
    best = 0
    for epoch, mean in enumerate(means):
        if mean > means[best]:
            best = epoch
        if epoch - best >= PATIENCE:
            break
    whole = f"{max(means):.1f}"
    return whole if means[best] == max(means) else f"{whole} ({means[best]:.1f})"


def sparse_semantics(folder: Path) -> str:
    """What captions by detectors should be made of, on val."""
    rows = [
        [label, *(mean_spread(_found_on_val(folder / name, share)) for share in ("0.1", "0.2"))]
        for label, name in SEMANTICS.items()
    ]
    return table(["A3VSE's captions by detectors: mR on val", "10 %", "20 %"], rows)


def _found_on_val(place: Path, share: str) -> list[float]:
    """The best mR on val of each seed."""
    whole = place.with_name(f"{place.name}-{share}.json")
    if whole.is_file():
        return [_best(run) for run in read(whole)["runs"]]
    runs = [read(file) for file in sorted(place.parent.glob(f"{place.name}-{share}x5-?.json"))]
    return [max(mean for _, mean in run["validation"]) for run in runs]


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
