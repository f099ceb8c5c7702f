"""Tables of learning from few annotations: A3VSE and its rivals, `suggest`, one language annotated."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from studies.grid_report import mean_spread
from studies.records import Record
from studies.sparse.methods import METHODS
from studies.sparse.report import ablation_table, sparse_table, trial_table
from studies.sparse.verdict import verdict
from studies.sparse.vocabulary import VOCABULARY_HEAD, vocabulary_row
from studies.tables.markdown import table
from studies.tables.results.records import Results

# The grid of the form that was chosen on val, that of the first form, and others of the first form.
CHOSEN, STUDY, JOINED, IDEAL, SCENES, VALIDATION = (
    "sparse/chosen",
    "sparse",
    "sparse/joined",
    "sparse/ideal",
    "sparse/scenes",
    "sparse/validation",
)
TRIALS, VOCABULARY = "sparse/trials", "sparse/vocabulary"
PENDING = "Not measured yet."
# Label of pseudo captions and the name of their detections.
SOURCES = {
    "s: regions of EfficientDet-Lite2": "regions",
    "s_g: tags of EfficientNet-lite0": "global",
    "both joined": "joined",
    "an ideal detector": "ideal",
}
# Section 4.6 of the paper, Flickr30K.
PAPER_VOCABULARY = [
    ["the paper's s, Flickr30K", "1,104", "13.1 %", "", "", ""],
    ["the paper's s_g, Flickr30K", "1,576", "9.8 %", "", "", ""],
]
# Label of a line and its row, all on val.
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
# The same for systems that start from word vectors.
VECTORS = {
    "VSE++": "vsepp-vectors",
    "A3VSE, adversaries x 0.1": "a3vse-vectors-weight-0.1",
    "A3VSE, adversaries x 0.03": "a3vse-vectors-weight-0.03",
    "A3VSE, adversaries x 0.03, learning rate 5e-5": "a3vse-vectors-lr-5e-5",
    "A3VSE, adversaries x 0.01": "a3vse-vectors-weight-0.01",
    "A3VSE, no s": "a3vse-vectors-no-s",
}

# The same with temperature 0.05.
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
# Sources of pseudo captions: label -> folder, and the method of a grid or the row on val.
PSEUDO_CAPTIONS = {
    "no s": (STUDY, "no-s"),
    "regions of EfficientDet-Lite2": (STUDY, "a3vse"),
    "tags of EfficientNet-lite0": (VALIDATION, "s/global"),
    "both": (VALIDATION, "s/raw"),
    "both, words in use instead of the names": (VALIDATION, "s/low"),
    "both, words in use beside the names": (VALIDATION, "s/special"),
    "the same by `features join` as it is now": (JOINED, "a3vse"),
}


def sparse(results: Results) -> str:
    """Tables 1 and 5 of the paper with the form of A3VSE that was chosen on val."""
    return _grid(chosen_grid(results))


def sparse_first(results: Results) -> str:
    """The same with the first form of A3VSE."""
    return _grid(results.where(STUDY, study="sparse"))


def chosen_grid(results: Results) -> list[Record]:
    """The grid of the chosen form; rivals that were not trained again there have the records of the first grid.

    They had the same annotation. Empty while the chosen form was not measured.
    """
    records = results.where(CHOSEN, study="sparse")
    present = {record["name"] for record in records}
    rivals = [name for name, method in METHODS.items() if method.recipe != "a3vse" and records]
    earlier = [record for name in rivals for record in results.where(STUDY, study="sparse", method=name)]
    return [*records, *(record for record in earlier if record["name"] not in present)]


def _grid(records: Sequence[Record]) -> str:
    if not records:
        return PENDING
    parts = [table(*sparse_table(records), left=3)]
    head, rows = ablation_table(records)
    return "\n\n".join([*parts, table(head, rows)] if rows else parts)


def sparse_trials(results: Results) -> str:
    """Forms of A3VSE on val; numbers that only a printed table has kept stand in for missing records."""
    records = results.where(TRIALS, study="sparse")
    measured = {(record["method"], record["images"]) for record in records}
    printed = results.where(TRIALS, study="sparse-printed")
    records += [record for record in printed if (record["method"], record["images"]) not in measured]
    return table(*trial_table(records)) if records else PENDING


def sparse_vocabulary(results: Results) -> str:
    """The words that pseudo captions and queries share."""
    records = {label: results.find(VOCABULARY, name) for label, name in SOURCES.items()}
    rows = [vocabulary_row(record, label) for label, record in records.items() if record is not None]
    return table(VOCABULARY_HEAD, [*rows, *PAPER_VOCABULARY]) if rows else PENDING


def sparse_gap(results: Results) -> str:
    """The gain from better pseudo captions: test mR, mean and deviation over seeds."""
    columns = {
        "no s": (STUDY, "no-s"),
        "s of EfficientDet-Lite2": (STUDY, "a3vse"),
        "s joined with tags": (JOINED, "a3vse"),
        "s of an ideal detector": (IDEAL, "a3vse"),
        "VSE++": (STUDY, "vsepp"),
        "VSE-infinity": (STUDY, "vse_infinity_region"),
        "SCAN t2i": (STUDY, "scan_t2i"),
    }
    rows = [
        [
            f"flickr8k-ml, {share:.0%} x {count}",
            *(_cell(results, folder, name, share, count) for folder, name in columns.values()),
        ]
        for share in (0.1, 0.2)
        for count in (1, 2, 5)
    ]
    scenes = {"no s": "no-s", "s of an ideal detector": "a3vse", "VSE++": "vsepp"}
    rows += [
        [
            f"demo scenes, {share:.0%} x 3",
            *(_cell(results, SCENES, scenes[name], share, 3) if name in scenes else "" for name in columns),
        ]
        for share in (0.1, 0.2)
    ]
    return table(["pictures x captions", *columns], rows)


def _cell(results: Results, folder: str, method: str, share: float, count: int) -> str:
    records = results.where(folder, method=method, images=share, per_image=count)
    return mean_spread([record["result"]["mR"] for record in records])


def sparse_choice(results: Results) -> str:
    """The systems that were compared on val before the study."""
    rows = []
    for start, systems in (("random", CHOICE), ("word vectors", VECTORS)):
        for label, name in systems.items():
            runs = results.seeds(VALIDATION, name)
            epochs = ", ".join(str(run["training"]["best_epoch"]) for run in runs)
            rows.append([label, start, mean_spread([_best(run) for run in runs]), epochs])
    return table(["system", "words start", "mR on val", "best epoch"], rows)


def sparse_weights(results: Results) -> str:
    """Weights of the adversaries on val; in brackets the mR of a run that patience would have ended too soon."""
    rows = []
    for label, name in WEIGHTS.items():
        runs = [
            results.seeds(VALIDATION, f"temperature-0.05/{name}-{share}") for share in ("0.1", "0.2", "0.5")
        ]
        rows.append([label, *(_patient(of_share[0]) if of_share else "" for of_share in runs)])
    return table(["mR on val", "10 %", "20 %", "50 %"], rows)


def _patient(run: Record) -> str:
    means = [float(mean) for _, mean, _ in run["validation"]]
    best = 0
    for epoch, mean in enumerate(means):
        if mean > means[best]:
            best = epoch
        if epoch - best >= PATIENCE:
            break
    whole = f"{max(means):.1f}"
    return whole if means[best] == max(means) else f"{whole} ({means[best]:.1f})"


def sparse_pseudo_captions(results: Results) -> str:
    """Sources of pseudo captions on val."""
    rows = [
        [label, *(mean_spread(_best_on_val(results, folder, name, share)) for share in (0.1, 0.2))]
        for label, (folder, name) in PSEUDO_CAPTIONS.items()
    ]
    return table(["A3VSE's pseudo captions: mR on val", "10 %", "20 %"], rows)


def _best_on_val(results: Results, folder: str, name: str, share: float) -> list[float]:
    """The best mR on val of each seed."""
    if folder == VALIDATION:
        return [_best(run) for run in results.seeds(folder, f"{name}-{share:g}")]
    runs = results.where(folder, method=name, images=share, per_image=5)
    return [max(mean for _, mean in run["validation"]) for run in runs]


def suggestion(results: Results) -> str:
    """A suggested choice of pictures against a random one."""
    runs = {way: results.seeds(STUDY, f"suggest/{way}") for way in ("suggest", "random")}
    means = {way: [run["test"]["A"] for run in of_way] for way, of_way in runs.items()}
    rows = [
        [way, *(f"{value:.1f}" for value in values), f"{statistics.mean(values):.1f}"]
        for way, values in means.items()
    ]
    first = runs["random"][0]
    seeds = [f"seed {run['seed']}" for run in runs["random"]]
    shown = table([f"`{first['recipe']}`, {first['images']:.0%} of the pictures", *seeds, "mean"], rows)
    outcome = verdict(means["suggest"], means["random"])
    return f"{shown}\n\n{outcome['verdict'].capitalize()}: {outcome['margin']:+.2f}, spread {outcome['spread']:.2f}."


def one_language(results: Results) -> str:
    """`lingvis_sparse` with a fifth of the pictures, and with all."""
    labels = {
        "20": "20 % of the pictures in English, pseudo captions of detectors",
        "alone": "20 % of the pictures in English",
        "taught": "20 % of the pictures in English, two teachers",
        "all": "all pictures in all five",
    }
    runs = {name: results.seeds(STUDY, f"lingvis_sparse-{name}") for name in labels}
    whole = _mean(runs["all"])
    rows = [
        [label, str(len(runs[name])), *_languages(runs[name]), f"{_mean(runs[name]) / whole:.0%}"]
        for name, label in labels.items()
    ]
    languages = list(runs["all"][0]["test"]["languages"])
    diagnosis = {
        "English, pseudo captions of detectors": runs["20"],
        "English": runs["alone"],
        "English, one teacher": results.seeds(VALIDATION, "lingvis_sparse-one-teacher"),
        "English, two teachers": runs["taught"],
        "all five languages": results.seeds(VALIDATION, "lingvis_sparse-all-languages"),
    }
    on_val = [[label, f"{_best(of_label[0]):.1f}"] for label, of_label in diagnosis.items()]
    return (
        table(["annotated", "seeds", *languages, "mean", "of all"], rows)
        + "\n\n"
        + table(["20 % of the pictures, seed 0", "mR on val"], on_val)
    )


def _languages(runs: Sequence[Record]) -> list[str]:
    tests = [run["test"]["languages"] for run in runs]
    means = [statistics.mean(test[lang]["mR"] for test in tests) for lang in tests[0]]
    return [*(f"{value:.1f}" for value in means), f"{_mean(runs):.1f}"]


def _mean(runs: Sequence[Record]) -> float:
    tests = [[float(scores["mR"]) for scores in run["test"]["languages"].values()] for run in runs]
    return statistics.mean(map(statistics.mean, tests))


def _best(run: Record) -> float:
    return max(float(mean) for _, mean, _ in run["validation"])
