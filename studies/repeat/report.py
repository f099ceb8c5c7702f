"""Trainings with one seed as a table."""

from __future__ import annotations

from collections.abc import Sequence

from studies.records import Record
from studies.tables.markdown import spread, table


def repeat_table(records: Sequence[Record]) -> str:
    """Trainings with one seed: when their losses begin to differ, and how far apart they end."""
    rows = []
    for record in records:
        last = [curve[-1][1] for curve in record["validation"]]
        chosen = [
            curve[epoch - 1][1]
            for curve, epoch in zip(record["validation"], record["best_epoch"], strict=True)
        ]
        first, differences = record["first_difference"], record["loss_difference"]
        rows.append(
            [
                f"`{record['recipe']}`, seed {record['seed']}",
                record["row"],
                str(len(last)),
                "never" if first is None else f"{first:,}",
                *(f"{differences[step]:.0e}" if step in differences else "" for step in ("100", "1000")),
                spread(last),
                spread(chosen),
                ", ".join(map(str, record["best_epoch"])),
                spread(record["test_rsum"]),
            ]
        )
    head = ["recipe", "conditions", "runs", "losses differ from step", "loss at 100", "loss at 1,000"]
    head += ["val rsum, last epoch", "val rsum, kept epoch", "kept epochs", "test rsum"]
    return table(head, rows, left=2) if rows else "Not measured yet."
