"""Tables of retrieval: English recipes on flickr8k-ml, how GPO starts, the demo."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

from studies.compact.report import compact_table
from studies.records import Record
from studies.retrieval_tables.methods import TABLES, VARIANTS
from studies.retrieval_tables.report import reading, table_rows
from studies.tables.markdown import millions, spread, table
from studies.tables.results.records import Results

MISSING = "Not measured yet."
FLICKR, SUPPLEMENT = "flickr8k-ml", "retrieval-tables"
EARLIER, AGAIN = f"{SUPPLEMENT}/earlier", f"{SUPPLEMENT}/again"
RECIPES = (
    "uvs",
    "uvs-gru",
    "vsepp",
    "vsepp_finetuned",
    "vse_infinity_grid",
    "vse_infinity_grid_finetuned",
    "vse_infinity_region",
)
RECALLS = [(side, f"R@{k}") for side in ("i2t", "t2i") for k in (1, 5, 10)]
PHOTO_LANGUAGES = ("en", "de", "zh")
# The way to recipe lingvis: folder, row of seed 0, what is new.
INGREDIENTS = (
    ("languages", "lingvis_frozen", "frozen cells of EfficientNet-lite0"),
    ("backbone", "lite0", "the backbone is trained"),
    ("backbone", "lite2", "EfficientNet-lite2"),
    ("backbone", "wide", "stronger augmentation, 6 epochs"),
    ("backbone", "wide-classes", "the classes of the backbone and their names"),
    ("backbone", "mid-classes", "768 values instead of 1,024, light augmentation again"),
    ("backbone", "mid-nine", "lower weights of the class terms, 9 epochs"),
    ("backbone", "short", "6 epochs with a rate that falls to 0.4 of its value"),
    ("backbone", "short-less", "less dropout, fewer changed words"),
)


def retrieval(results: Results) -> str:
    """English retrieval on flickr8k-ml: one row per recipe that was trained, means over seeds."""
    rows = []
    for name in RECIPES:
        runs = results.seeds(FLICKR, name)
        if not runs:
            continue
        tests = [run["test"]["languages"]["en"] for run in runs]
        recalls = [spread([test[side][key] for test in tests]) for side, key in RECALLS]
        size = f"{millions(runs[0]['parameters']['total'])} M"
        rows.append([f"`{name}`", *recalls, spread([test["rsum"] for test in tests]), str(len(runs)), size])
    both = results.get(FLICKR, "ensemble-region-grid")
    english = both["languages"]["en"]
    recalls = [f"{english[side][key]:.1f}" for side, key in RECALLS]
    rows.append(
        [
            "region + grid, seed 0",
            *recalls,
            f"{english['rsum']:.1f}",
            "1",
            f"{millions(both['parameters']['total'])} M",
        ]
    )
    head = ["recipe", *(f"{side} {key}" for side, key in RECALLS), "rsum", "seeds", "parameters"]
    return table(head, rows)


def repeated(results: Results) -> str:
    """Trainings of one seed on two machines."""
    rows = []
    for again in results.where(AGAIN):
        first = results.get(EARLIER, again["name"])
        equal = [one == other for one, other in zip(first["validation"], again["validation"], strict=True)]
        since = "none" if all(equal) else str(1 + equal.index(False))
        sums = [f"{record['result']['rsum']:.2f}" for record in (first, again)]
        rows.append([VARIANTS[again["row"]].label, str(again["seed"]), *sums, since])
    head = [
        "variant of `vse_infinity_region`",
        "seed",
        "rsum",
        "rsum again",
        "first epoch that differs on val",
    ]
    return table(head, rows) if rows else MISSING


def supplement(number: int) -> Callable[[Results], str]:
    """A table of VSE-infinity's supplement, with the variants that were trained, and what it says."""
    chosen = TABLES[number]

    def block(results: Results) -> str:
        def runs(variant: str) -> list[Record]:
            return results.seeds(SUPPLEMENT, variant)

        head, rows = table_rows(chosen, runs)
        parts = [table(head, rows, left=len(chosen.columns)), reading(chosen, runs)]
        return "\n\n".join(part for part in parts if part) if rows else MISSING

    return block


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
    """Trials with a trained backbone: best score on val, recalls on free photographs, and times on the GPU."""
    rows = []
    for run in results.where("backbone", recipe="lingvis"):
        scores = {epoch: mean for epoch, mean, *_ in run["validation"]}
        best = max(scores, key=lambda epoch: scores[epoch])
        last = max(scores)
        size = millions(run["parameters"]["total"]) if "parameters" in run else ""
        photos = [_recalls(run.get("photos", {}).get(lang)) for lang in PHOTO_LANGUAGES]
        name = f"`{run.get('row', run['name'])}`"
        row = [name, run["change"], size, f"{best} of {last}", f"{scores[best]:.1f}", f"{scores[last]:.1f}"]
        rows.append([*row, *photos])
    head = ["run", "change", "values, millions", "best epoch", "val A", "last epoch"]
    head += [f"photographs {lang}, R@1 / 5 / 10" for lang in PHOTO_LANGUAGES]
    network, step = results.get("backbone", "network-step"), results.get("backbone", "step-profile")
    times = "; ".join(f"{label} {ms:.0f} ms" for label, ms in network["ms"].items())
    kernels = ", ".join(f"{label} {ms} ms" for label, ms in step["ms"].items())
    return (
        f"{table(head, rows, left=2)}\n\nForward and backward of {network['network']} with {network['batch']} "
        f"pictures, one {network['hardware']['gpu']}: {times}.\n\nA step of `{step['run']}` with {step['batch']} "
        f"pictures and {step['sentences']:,} sentences, alone on the GPU: {step['total_ms']} ms and {step['memory_gib']} "
        f"GiB; of that {kernels}."
    )


def ingredients(results: Results) -> str:
    """The gain of each ingredient of recipe lingvis on val, in the order in which they were added."""
    rows, before = [], None
    for study, row, label in INGREDIENTS:
        run = results.find(study, f"{row}/0") or results.get(study, row)
        score = max(mean for _, mean, *_ in run["validation"])
        gain = "" if before is None else f"{score - before:+.1f}"
        photos = _recalls(run.get("photos", {}).get("en"))
        rows.append([f"`{row}`", label, f"{score:.1f}", gain, photos])
        before = score
    return table(["run", "new", "val A", "gain", "photographs en, R@1 / 5 / 10"], rows, left=2)


def _recalls(scores: Mapping[str, float] | None) -> str:
    return " / ".join(f"{scores[f'R@{k}']:.1f}" for k in (1, 5, 10)) if scores else ""


def start(results: Results) -> str:
    """Recipes for few pictures on a CPU, and a model that needs no training."""
    rows = []
    for record in results.where("start"):
        difference = record["difference"]
        change = (
            ""
            if difference is None
            else f"{difference['difference']:+.1f} [{difference['low']:+.1f}, {difference['high']:+.1f}]"
        )
        seconds = record.get("cpu_seconds")
        time = "none" if "training" not in record else "" if seconds is None else f"{seconds:.0f}"
        test = record["test"]
        rows.append(
            [
                record["dataset"],
                f"`{record['row']}`",
                time,
                f"{test['chance']:.1f}",
                f"{test['A']:.1f}",
                change,
            ]
        )
    head = [
        "data and training pictures",
        "model",
        "training, s of one core",
        "chance",
        "test A",
        "difference to `start`",
    ]
    return table(head, rows, left=2)
