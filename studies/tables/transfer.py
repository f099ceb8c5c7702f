"""Tables of what is carried from one language to another: word spaces, FS/T1/T2, languages added later."""

from __future__ import annotations

import statistics
from pathlib import Path

from studies.tables.markdown import read, table
from studies.transfer.report import transfer_table

PENDING = "Not measured yet."


def alignment(folder: Path) -> str:
    """Accuracy of word-space maps, the step that diverges, and memory."""
    record = read(folder / "accuracy.json")
    rows = []
    for row in record["rows"]:
        mean = row["mean"]
        pairs = statistics.mean(run["fitted_pairs"] for run in row["runs"])
        asked = statistics.mean(run["held_out_words"] for run in row["runs"])
        rows.append(
            [
                f"{row['source']}-{row['target']}",
                {"freedict": "FreeDict", "induced": "induced from parallel sentences"}[row["dictionary"]],
                f"{pairs:,.0f}",
                f"{asked:,.0f}",
                *(f"{mean[method]['nn']:.1f}" for method in ("procrustes", "rcsls")),
                *(f"{mean[method]['csls']:.1f}" for method in ("procrustes", "rcsls")),
            ]
        )
    head = ["pair", "dictionary", "pairs fitted", "words asked", "nearest, Procrustes", "nearest, RCSLS"]
    made = table([*head, "CSLS, Procrustes", "CSLS, RCSLS"], rows, left=2)
    fixed, memory = read(folder / "fixed-step.json"), read(folder / "memory.json")
    diverging, halved = fixed["fixed"]["objective"], fixed["halving"]["objective"]
    megabytes, seconds = memory["peak_megabytes"]["rcsls"], memory["seconds_a_step"]
    return (
        f"Percent of held-out words whose first neighbour is a translation, mean over {len(record['rows'][0]['runs'])} "
        f"seeds, the first {record['words']:,} words of either language, {record['hardware']['cores']} cores.\n\n{made}\n\n"
        f"A fixed step of {fixed['fixed']['steps'][0]:g} on {fixed['source']}-{fixed['target']}: the objective goes from "
        f"{diverging[0]:.2f} to {diverging[-1]:.2f}. With halving and roll-back it ends at {halved[-1]:.2f}.\n\n"
        f"{memory['words']:,} x {memory['words']:,} words of {memory['dim']} values, {memory['pairs']:,} pairs: "
        f"{megabytes:.0f} MB at most, {seconds:.0f} s a step on one thread of a machine that did other work too."
    )


def transfer(folder: Path) -> str:
    """One table for each pair of languages."""
    parts = []
    for pair in sorted({file.parent for file in folder.glob("*-*/*.json")}):
        records = [read(file) for file in sorted(pair.glob("*.json"))]
        head, rows = transfer_table(records)
        parts.append(f"**{pair.name.replace('-', ' to ')}**\n\n" + table(head, rows))
    return "\n\n".join(parts) or PENDING


def new_language(folder: Path) -> str:
    """Languages that a model learnt later, beside the model that learnt them with the others."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        record = read(file)
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
    head = ["language", "captions", "split", "route chosen", "mR before", "after", "learnt with the others"]
    return table([*head, "share", "largest change of an old one", "minutes, 2 cores", "seeds"], rows, left=4)
