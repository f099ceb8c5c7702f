"""Tables of search: engines side by side, a typed query, re-ranking, clients at once, kills while indexing."""

from __future__ import annotations

from studies.records import Record
from studies.search.report import COLUMNS, FILTER_COLUMNS, LEGEND, engine_rows, filter_rows, typed_line
from studies.tables.markdown import table
from studies.tables.results.records import Results

MISSING = "Not measured yet."
STUDY = "search"
CRASHES = ("crash", "crash-lance", "crash-postgres", "crash-ray-sqlite", "crash-ray-lance")
LOADS = {"load": "one process", "load-2-workers": "`--workers 2`"}
LOAD_ROWS = (
    "searches per second",
    "of a minimal handler, before / after",
    "ratio to it",
    "answers per second, with thumbnails",
    "search, ms (p50 / p95)",
    "thumbnail, ms (p50 / p95)",
    "answers by status",
    "errors other than 429",
    "memory of the server at the start, after 10 s, at the end, MB",
)
RECALLS = ("R@1", "R@5", "R@10")


def rerank(results: Results) -> str:
    """Recall before and after re-ranking, and the time of a search."""
    records = [results.get("rerank", split) for split in ("val", "test")]
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
        f"A whole search of {records[-1]['pictures']:,} pictures, all cached and each query run once before, takes "
        f"{took['alone_ms']['p50']:.0f} ms (p50; p95 {took['alone_ms']['p95']:.0f}) without, "
        f"{took['reranked_ms']['p50']:.0f} ms (p95 {took['reranked_ms']['p95']:.0f}) with re-ranking; "
        f"{took['queries']} queries, {_machine(records[-1])}."
    )
    return f"{table(head, rows)}\n\n{times}"


def summary(results: Results) -> str:
    """Times that a user can expect, in a sentence."""
    million = results.find(STUDY, "vectors-1000000/sqlite")
    typed, load = results.find(STUDY, "typed"), results.find(STUDY, "load")
    if million is None or typed is None or load is None:
        return MISSING
    took = million["single_ms"]["p50"]
    numpy = took / million["of_numpy"]["single_ms"]  # in the same run
    return (
        f"On {million['hardware']['cores']} cores a query is compared with all of {million['vectors']:,} pictures in "
        f"{took:.1f} ms (numpy: {numpy:.1f} ms) and misses none; from a typed "
        f"sentence to ten results it takes {typed['ms']['p50']:.1f} ms among {typed['pictures']:,}. One process answers "
        f"{load['searches_per_second']:.0f} searches per second of {load['clients']} clients, with their thumbnails, from "
        f"{load['pictures']:,} pictures."
    )


def engines(results: Results) -> str:
    """One table per number of vectors, small ones first."""
    records = results.where(STUDY, benchmark="search")
    if not records:
        return MISSING
    parts = []
    for size in sorted({record["vectors"] for record in records}):
        of_size = [record for record in records if record["vectors"] == size]
        head = f"**{size:,} x {of_size[0]['dim']}**, {_machine(of_size[0])}"
        parts.append(f"{head}\n\n{table(COLUMNS, engine_rows(of_size))}")
    filtered = filter_rows(sorted(records, key=lambda record: record["vectors"]))
    if filtered:
        parts.append(f"With a filter:\n\n{table(FILTER_COLUMNS, filtered)}")
    summaries = {record["engine"]: record["what"] for record in records if "what" in record}
    meaning = "\n".join(f"- `{name}`: {summary}" for name, summary in summaries.items())
    return "\n\n".join([*parts, LEGEND[0].upper() + LEGEND[1:], meaning])


def pgvector(results: Results) -> str:
    """Indexes of pgvector by their settings."""
    records = sorted(results.where(STUDY, benchmark="pgvector"), key=lambda record: record["vectors"])
    if not records:
        return MISSING
    rows = [
        [
            f"{record['vectors']:,}",
            record["index"],
            f"{record['build_seconds']:,.0f}",
            f"{record['index_mb']:,.0f}",
            str(each["value"]),
            str(each["given"]),
            f"{each['recall_at_10']:.3f}",
            f"{each['ms']['p50']:.1f} / {each['ms']['p95']:.1f}",
            f"{each['of_exact']:.3f}",
        ]
        for record in records
        for each in record["searches"]
    ]
    head = ["rows", "index", "build s", "MB", "effort", "candidates", "recall@10", "ms", "of comparing all"]
    first = f"{records[0]['dim']} values, seed {records[0]['seed']}, {_machine(records[0])}:"
    return f"{first}\n\n{table(head, rows)}"


def milvus(results: Results) -> str:
    """The store on Milvus: searching from the study of search, rows and browsing from its own."""
    rows = []
    records = [
        (kind, record)
        for engine, kind in (("milvus-exact", "FLAT"), ("milvus", "HNSW"))
        for record in results.where(STUDY, benchmark="search", engine=engine)
        if "left_out" not in record
    ]
    for kind, record in records:
        of = f"{kind}, {record['vectors']:,} pictures"
        rows += [
            [
                f"{of}: writing, small thumbnails in the rows",
                f"{record['vectors'] / record['add_seconds']:,.0f} rows/s",
            ],
            [f"{of}: index at the end of `lingvis index`", f"{record['index_seconds']:,.0f} s"],
            [
                f"{of}: one query, ten hits (p50 / p95)",
                "{p50:.1f} / {p95:.1f} ms".format(**record["single_ms"]),
            ],
            [f"{of}: recall@10", f"{record['recall_at_10']:.3f}"],
            [
                f"{of}: memory, with the server's",
                f"{1e6 * record['memory_mb'] / record['vectors']:,.0f} bytes per row",
            ],
        ]
    browsed = results.find(STUDY, "milvus-rows")
    if browsed is not None:
        size = f"{browsed['rows']:,} rows, thumbnails of {browsed['thumbnail_bytes'] / 1000:.0f} KB"
        for place, each in (("in a folder", browsed["in_folder"]), ("in the rows", browsed["in_rows"])):
            rows += [
                [f"{size} {place}: writing", f"{each['rows_per_second']:,} rows/s"],
                [f"{size} {place}: memory of the server", f"{each['server_bytes_per_row']:,} bytes per row"],
                [
                    f"{size} {place}: first browse; later ones (p50)",
                    f"{each['first_browse_ms']:,.0f} ms; {each['later_browse_ms']['p50']:.1f} ms",
                ],
            ]
    return table(["what", "measured"], rows) if rows else MISSING


def typed(results: Results) -> str:
    """From a typed sentence to ten results."""
    record = results.find(STUDY, "typed")
    return MISSING if record is None else typed_line(record)


def load(results: Results) -> str:
    """Clients of a server, by its number of processes."""
    records = [record for name in LOADS if (record := results.find(STUDY, name)) is not None]
    if not records:
        return MISSING
    first = records[0]
    rows = [list(row) for row in zip(*map(_load_column, records), strict=True)]
    pictures = f"{first['pictures']:,} pictures, " if first["pictures"] else ""
    head = f"{first['clients']} clients for {first['seconds']:.0f} s, {pictures}{_machine(first)}:"
    columns = [LOADS[record["name"]] for record in records]
    labelled = [[label, *row] for label, row in zip(LOAD_ROWS, rows, strict=True)]
    return f"{head}\n\n" + table(["", *columns], labelled)


def _load_column(record: Record) -> list[str]:
    memory, minimal = record["memory_mb"], record.get("minimal_handler")
    return [
        f"{record['searches_per_second']:,.0f}",
        "-"
        if minimal is None
        else " / ".join(f"{each['searches_per_second']:,.0f}" for each in minimal.values()),
        f"{record['ratio_to_minimal_handler']:.2f}" if "ratio_to_minimal_handler" in record else "-",
        f"{record['answers_per_second']:,.0f}",
        *(
            f"{record['ms'][kind]['p50']:.0f} / {record['ms'][kind]['p95']:.0f}"
            for kind in ("search", "thumbnail")
        ),
        ", ".join(f"{count:,} x {status}" for status, count in record["statuses"].items()),
        str(sum(record["errors"].values())),
        f"{memory['start']:,.0f}, {memory['after_10_s']:,.0f}, {memory['end']:,.0f}",
    ]


def crashes(results: Results) -> str:
    """Kills while indexing."""
    records = [record for name in CRASHES if (record := results.find(STUDY, name)) is not None]
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


def _machine(record: Record) -> str:
    return f"{record['hardware']['cores']} cores ({record['hardware']['cpu']})"
