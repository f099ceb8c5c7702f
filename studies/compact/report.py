"""The study of compact embeddings as a table and as lines of a plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studies.tables.markdown import table

Record = Mapping[str, Any]
PREFIX = "first values"


def compact_table(record: Record) -> str:
    """One row per form and length: mR and text-to-image recall by number of distractors, means over languages."""
    counts = record["distractors"]["counts"]
    rows: dict[tuple[str, int], list[str]] = {}
    for key in ("mean_mR", "mean_t2i"):
        for each in record["rows"]:
            start = [each["form"], str(each["dim"]), f"{each['bytes']:,}"]
            rows.setdefault((each["form"], each["dim"]), start).append(f"{each[key]:.1f}")
    ordered = sorted(rows, key=lambda row: (row[0] == "SVD", len(row[0]), row[0], row[1]))
    head = ["stored as", "values", "bytes"]
    head += [f"{name}, {count:,} added" for name in ("mR", "text to image") for count in counts]
    return table(head, [rows[key] for key in ordered])


def prefix_lines(record: Record) -> dict[int, list[tuple[int, float]]]:
    """(length, mean mR) of the first values, by number of distractors."""
    return {
        count: sorted(
            (each["dim"], each["mean_mR"])
            for each in record["rows"]
            if each["form"] == PREFIX and each["distractors"] == count
        )
        for count in record["distractors"]["counts"]
    }
