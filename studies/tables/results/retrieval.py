"""Tables of retrieval: English recipes on flickr8k-ml, how GPO starts, the demo."""

from __future__ import annotations

import statistics

from studies.compact.report import compact_table
from studies.tables.markdown import spread, table
from studies.tables.results.records import Results

MISSING = "Not measured yet."
FLICKR = "flickr8k-ml"
RECIPES = (
    "vsepp",
    "vsepp_finetuned",
    "vse_infinity_grid",
    "vse_infinity_grid_finetuned",
    "vse_infinity_region",
)
RECALLS = [(side, f"R@{k}") for side in ("i2t", "t2i") for k in (1, 5, 10)]


def retrieval(results: Results) -> str:
    """English retrieval on flickr8k-ml: one row per recipe that was trained, means over seeds."""
    rows = []
    for name in RECIPES:
        runs = results.seeds(FLICKR, name)
        if not runs:
            continue
        tests = [run["test"]["languages"]["en"] for run in runs]
        recalls = [f"{statistics.mean([test[side][key] for test in tests]):.1f}" for side, key in RECALLS]
        millions = f"{runs[0]['parameters']['total'] / 1e6:.1f} M"
        rows.append([f"`{name}`", *recalls, spread([test["rsum"] for test in tests]), millions])
    both = results.get(FLICKR, "ensemble-region-grid")
    english = both["languages"]["en"]
    recalls = [f"{english[side][key]:.1f}" for side, key in RECALLS]
    rows.append(
        [
            "region + grid, seed 0",
            *recalls,
            f"{english['rsum']:.1f}",
            f"{both['parameters']['total'] / 1e6:.1f} M",
        ]
    )
    head = ["recipe", *(f"{side} {key}" for side, key in RECALLS), "rsum", "parameters"]
    return table(head, rows)


def gpo_start(results: Results) -> str:
    """Runs on val that selected the start of GPO."""
    rows = []
    for run in results.get(FLICKR, "gpo-start")["runs"]:
        curve = run["validation_rsum"]
        share = run.get("image_weight_on_first_quarter_at_start")
        rows.append(
            [
                run["gpo_start"],
                f"{100 * share:.0f} %" if share is not None else "",
                "yes" if run["rate_warmup"] else "no",
                str(run["min_count"]),
                str(run["seed"]),
                f"{curve[6]:.1f}",
                f"{max(curve):.1f}" if run["epochs"] == 25 else "",
                run["notes"],
            ]
        )
    head = [
        "start",
        "on the largest quarter",
        "rate warm-up",
        "min_count",
        "seed",
        "val rsum, epoch 7",
        "best of 25",
        "notes",
    ]
    return table(head, rows)


def demo(results: Results) -> str:
    """Recall of the demo's model by language."""
    report = results.get("demo", "demo")
    rows = [
        [lang, *(f"{each[side][key]:.1f}" for side, key in RECALLS), f"{each['mR']:.1f}"]
        for lang, each in report["languages"].items()
    ]
    chance = statistics.mean([each["chance"] for each in report["languages"].values()])
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in report["seconds"].items())
    head = table(["language", *(f"{side} {key}" for side, key in RECALLS), "mR"], rows)
    return f"{head}\n\nMean mR {report['A']:.1f}; chance is {chance:.1f}. On {report['hardware']['cores']} cores: {took}."


def compact(results: Results) -> str:
    """Recall by length of the embeddings and number of distractors, one table per model and split."""
    records = results.where("compact")
    if not records:
        return MISSING
    return "\n\n".join(
        f"**{record['model']}**, {record['dataset']}, split {record['split']}, mean of "
        f"{len(record['rows'][0]['mR'])} languages:\n\n{compact_table(record)}"
        for record in records
    )


def trained_backbone(results: Results) -> str:
    """Validation scores of recipes with a trained backbone, by epoch, and the time of the network."""
    runs = results.where("backbone", recipe="lingvis_live")
    epochs = range(1, 1 + max(epoch for run in runs for epoch, _ in run["validation"]))
    rows = []
    for run in runs:
        scores = dict(run["validation"])
        changes = ", ".join(
            f"{key}={value}" for key, value in run["overrides"].items() if key.startswith("image.pixels")
        )
        shown = [f"{scores[epoch]:.1f}" if epoch in scores else "" for epoch in epochs]
        rows.append([run["network"], changes, *shown])
    head = ["network", "changes", *(f"epoch {epoch}" for epoch in epochs)]
    step = results.get("backbone", "network-step")
    times = "; ".join(f"{label} {ms:.0f} ms" for label, ms in step["ms"].items())
    return (
        f"{table(head, rows, left=2)}\n\nForward and backward of {step['network']} with {step['batch']} pictures, one "
        f"{step['hardware']['gpu']}: {times}."
    )
