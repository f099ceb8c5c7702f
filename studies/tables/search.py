"""Tables of docs/studies/performance.md: engines side by side, a typed question, clients at once, kills while indexing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.search.report import COLUMNS, LEGEND, engine_rows, typed_line
from studies.tables.markdown import read, table

MISSING = "Not measured yet."
CRASHES = ("crash.json", "crash-postgres.json")
RECALLS = ("R@1", "R@5", "R@10")


def rerank(folder: Path) -> str:
    """Recall before and after, and what a question takes."""
    records = [read(folder / f"{split}.json") for split in ("val", "test")]
    labels = {
        "first": "as found",
        "second": "first 100 by the second model alone",
        "both": "first 100 by both, as `--rerank` does",
    }
    rows = [
        [label, *(f"{record['text_to_image'][name][key]:.1f}" for record in records for key in RECALLS)]
        for name, label in labels.items()
    ]
    head = ["order", *(f"{record['split']} {key}" for record in records for key in RECALLS)]
    took = records[-1]["search"]
    times = (
        f"A whole search of {records[-1]['pictures']:,} pictures, each known and each question asked once before, takes "
        f"{took['alone_ms']['p50']:.0f} ms (p50; p95 {took['alone_ms']['p95']:.0f}) without, "
        f"{took['reranked_ms']['p50']:.0f} ms (p95 {took['reranked_ms']['p95']:.0f}) with re-ranking; "
        f"{took['questions']} questions, {_machine(records[-1])}."
    )
    return f"{table(head, rows)}\n\n{times}"


def engines(folder: Path) -> str:
    """One table for each number of vectors, small ones first."""
    records = sorted(map(read, folder.glob("vectors-*.json")), key=lambda record: int(record["vectors"]))
    if not records:
        return MISSING
    parts = []
    for record in records:
        what = f"**{record['vectors']:,} x {record['dim']}**, {_machine(record)}"
        parts.append(f"{what}\n\n{table(COLUMNS, engine_rows(record))}")
    ways = {name: each["what"] for record in records for name, each in record["engines"].items()}
    meant = "\n".join(f"- `{name}`: {way}" for name, way in ways.items())
    return "\n\n".join([*parts, LEGEND[0].upper() + LEGEND[1:], meant])


def typed(folder: Path) -> str:
    """From a typed sentence to ten results."""
    file = folder / "typed.json"
    return typed_line(read(file)) if file.is_file() else MISSING


def load(folder: Path) -> str:
    """Clients of a server."""
    file = folder / "load.json"
    if not file.is_file():
        return MISSING
    record = read(file)
    statuses = ", ".join(f"{count:,} x {status}" for status, count in record["statuses"].items())
    memory = record["memory_mb"]
    rows = [
        ["searches a second", f"{record['searches_per_second']:,.0f}"],
        ["answers a second, with thumbnails", f"{record['answers_per_second']:,.0f}"],
        *(
            [f"{kind}, ms (p50 / p95)", f"{times['p50']:.0f} / {times['p95']:.0f}"]
            for kind, times in record["ms"].items()
        ),
        ["answers by status", statuses],
        ["errors other than 429", str(sum(record["errors"].values()))],
        [
            "memory of the server at the start, after 10 s, at the end, MB",
            f"{memory['start']:,.0f}, {memory['after_10_s']:,.0f}, {memory['end']:,.0f}",
        ],
    ]
    pictures = f"{record['pictures']:,} pictures, " if record["pictures"] else ""
    head = f"{record['clients']} clients for {record['seconds']:.0f} s, {pictures}{_machine(record)}:"
    return f"{head}\n\n" + table(["", "measured"], rows)


def crashes(folder: Path) -> str:
    """Kills while indexing."""
    records = [read(folder / name) for name in CRASHES if (folder / name).is_file()]
    rows = [
        [
            record["store"],
            str(record["pictures"]),
            str(record["kills"]),
            *(str(sum(each[key] for each in record["rounds"])) for key in ("missing", "twice", "lost")),
            f"{record['rounds_without_fault']} of {len(record['rounds'])}",
        ]
        for record in records
    ]
    head = [
        "store",
        "pictures",
        "kills",
        "files missing",
        "files twice",
        "stored rows lost",
        "rounds without fault",
    ]
    return table(head, rows) if rows else MISSING


def _machine(record: dict[str, Any]) -> str:
    return f"{record['hardware']['cores']} cores ({record['hardware']['cpu']})"
