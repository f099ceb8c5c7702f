"""Tables of transfer from one language to another: word spaces, FS/T1/T2, languages added later."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from studies.records import Record
from studies.tables.markdown import table
from studies.tables.results.records import Results
from studies.transfer.report import transfer_table

PENDING = "Not measured yet."


def alignment(results: Results) -> str:
    """Accuracy of word-space maps, the step that diverges, and memory."""
    record = results.get("alignment", "accuracy")
    rows = []
    for row in record["rows"]:
        mean = row["mean"]
        pairs = statistics.mean(run["fitted_pairs"] for run in row["runs"])
        held_out = statistics.mean(run["held_out_words"] for run in row["runs"])
        rows.append(
            [
                f"{row['source']}-{row['target']}",
                {"freedict": "FreeDict", "induced": "induced from parallel sentences"}[row["dictionary"]],
                f"{pairs:,.0f}",
                f"{held_out:,.0f}",
                *(f"{mean[method]['nn']:.1f}" for method in ("procrustes", "rcsls")),
                *(f"{mean[method]['csls']:.1f}" for method in ("procrustes", "rcsls")),
            ]
        )
    head = ["pair", "dictionary", "pairs fitted", "words held out", "nearest, Procrustes", "nearest, RCSLS"]
    accuracies = table([*head, "CSLS, Procrustes", "CSLS, RCSLS"], rows, left=2)
    fixed, memory = (results.get("alignment", name) for name in ("fixed-step", "memory"))
    diverging, halved = fixed["fixed"]["objective"], fixed["halving"]["objective"]
    megabytes, seconds = memory["peak_megabytes"]["rcsls"], memory["seconds_per_step"]
    return (
        f"Percent of held-out words whose first neighbour is a translation, mean over {len(record['rows'][0]['runs'])} "
        f"seeds, the first {record['words']:,} words of either language, {record['hardware']['cores']} cores."
        f"\n\n{accuracies}\n\n"
        f"A fixed step of {fixed['fixed']['steps'][0]:g} on {fixed['source']}-{fixed['target']}: the objective goes from "
        f"{diverging[0]:.2f} to {diverging[-1]:.2f}. With halving and roll-back it ends at {halved[-1]:.2f}.\n\n"
        f"{memory['words']:,} x {memory['words']:,} words of {memory['dim']} values, {memory['pairs']:,} pairs: "
        f"{megabytes:.0f} MB at most, {seconds:.0f} s per step on one thread."
    )


def transfer(results: Results) -> str:
    """One table per pair of languages, and the part of T2's gain that the image side of the source explains."""
    parts = []
    for source, target in sorted({(each["source"], each["target"]) for each in results.where("transfer")}):
        records = results.where("transfer", source=source, target=target)
        head, rows = transfer_table(records)
        parts.append(f"**{source} to {target}**\n\n" + table(head, rows))
        parts += _image_side(records)
    return "\n\n".join(parts) or PENDING


def _image_side(records: Sequence[Record]) -> list[str]:
    """A sentence about the control; none if it was not measured."""
    mean: dict[tuple[str, int], float] = {}
    for method in ("fs", "fs-image", "t2-procrustes"):
        for size in {record["learnt_from"] for record in records}:
            values = [
                record["result"]["mR"]
                for record in records
                if (record["method"], record["learnt_from"]) == (method, size)
            ]
            if values:
                mean[method, size] = statistics.mean(values)
    gains = [
        f"{mean['fs-image', size] - mean['fs', size]:+.1f} of {mean['t2-procrustes', size] - mean['fs', size]:+.1f} "
        f"points with {size:,} captions"
        for method, size in sorted(mean)
        if method == "fs-image" and ("fs", size) in mean and ("t2-procrustes", size) in mean
    ]
    return [f"The image side of the source alone gives FS {', '.join(gains)} that T2 gains."] if gains else []


def distilled_text(results: Results) -> str:
    """mR of a teacher of few languages and of its student, by language."""
    runs = results.where("distilled-text", study="distilled-text")
    if not runs:
        return PENDING
    by_dataset: dict[str, list[Record]] = {}
    for run in runs:
        by_dataset.setdefault(run["dataset"], []).append(run)
    langs = list(dict.fromkeys(lang for run in runs for lang in run["student"]["mR"]))
    rows = []
    for dataset, seeds in by_dataset.items():
        for who in ("teacher", "student"):
            models = [run[who] for run in seeds]
            recipe = seeds[0]["recipe"] if who == "student" else models[0]["recipe"]
            scores = [
                f"{statistics.mean(model['mR'][lang] for model in models):.1f}"
                if lang in models[0]["mR"]
                else ""
                for lang in langs
            ]
            size = f"{models[0]['parameters']['text'] / 1e6:.1f}"
            rows.append([dataset, f"{who} (`{recipe}`)", size, *scores, str(len(seeds))])
    return table(["dataset", "model", "text side, million values", *langs, "seeds"], rows, left=2)


def new_language(results: Results) -> str:
    """Languages that were added to a model, beside a model that learnt all together."""
    rows = []
    for record in results.where("new-language"):
        routes = sorted({run["route"] for run in record["runs"]})
        rows.append(
            [
                record["lang"],
                f"{record['captions']:,}",
                record["split"],
                ", ".join(routes),
                f"{record['zero_shot']:.1f}",
                f"{record['after']:.1f}",
                f"{record['joint']:.1f}",
                f"{record['share_of_joint']:.0f} %",
                f"{record['largest_change_of_old']:.1f}",
                f"{record['seconds'] / 60:.1f}",
                str(len(record["runs"])),
            ]
        )
    if not rows:
        return PENDING
    head = ["language", "captions", "split", "selected route", "mR before", "after", "learnt with the others"]
    return table([*head, "share", "largest change of an old one", "minutes, 2 cores", "seeds"], rows, left=4)


def route_choice(results: Results) -> str:
    """Estimates that add-language makes of every route from few captions, beside the mR on unseen pictures."""
    rows, sentences = [], []
    for record in results.where("route-choice"):
        for run in record["runs"]:
            possible = [route for route in run["routes"] if "unseen" in route]
            best = max(possible, key=lambda route: float(route["unseen"]))
            chosen = next(route for route in possible if route["route"] == run["chosen"])
            for route in possible:
                marks = [mark for mark, of in (("chosen", chosen), ("best", best)) if route is of]
                rows.append(
                    [
                        record["lang"],
                        str(run["seed"]),
                        f"{route['route']}{' (' + ', '.join(marks) + ')' if marks else ''}",
                        f"{route['mR']:.1f} ± {route['spread']:.1f}",
                        f"{route['unseen']:.1f}",
                        f"{route['seconds']:.0f}",
                    ]
                )
            sentences.append(
                f"- {record['lang']}, seed {run['seed']}: {run['sentences']} captions; cross-validation among "
                f"{run['pool']} pictures took {run['seconds_to_choose'] / 60:.1f} minutes. {run['unseen']} unseen "
                f"pictures: {run['zero_shot']:.1f} before, {chosen['unseen']:.1f} by the chosen route, "
                f"{best['unseen']:.1f} by the best one."
            )
    if not rows:
        return PENDING
    head = [
        "language",
        "seed",
        "route",
        "mR by cross-validation ± spread",
        "mR on unseen pictures",
        "seconds",
    ]
    return table(head, rows, left=3) + "\n\n" + "\n".join(sentences)
