"""The study of search as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = ("engine", "add s", "index s", "one ms", "100 ms", "recall@10", "MB", "peak MB", "disk MB")
LEGEND = (
    "one, 100: milliseconds of a query and of a hundred at once, p50 / p95, in brackets p50 as a multiple of numpy in "
    "the same run; MB: memory while searching, with the server's; peak: the most while building."
)
FILTER_COLUMNS = ("engine", "vectors", "pass the filter", "first ms", "later ms", "recall@10")


def engine_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """One row per engine, in the order of COLUMNS; engines that were left out come last, with the reason."""
    rows = [
        [
            each["engine"],
            f"{each['add_seconds']:,.1f}",
            f"{each['index_seconds']:,.1f}",
            _pair(each["single_ms"]) + _ratio(each, "single_ms"),
            _pair(each["batch_of_100_ms"]) + _ratio(each, "batch_of_100_ms"),
            f"{each['recall_at_10']:.3f}",
            f"{each['memory_mb']:,.0f}",
            f"{each['build_peak_mb']:,.0f}",
            f"{each['disk_mb']:,.0f}",
        ]
        for each in records
        if "left_out" not in each
    ]
    return rows + [
        [each["engine"], each["left_out"], *[""] * (len(COLUMNS) - 2)]
        for each in records
        if "left_out" in each
    ]


def filter_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """One row per engine and filter, in the order of FILTER_COLUMNS."""
    return [
        [
            record["engine"],
            f"{record['vectors']:,}",
            f"{each['share']:.0%}",
            _short(each["first_ms"]) if "first_ms" in each else "",
            _pair(each["ms"]),
            f"{each['recall_at_10']:.3f}",
        ]
        for record in records
        for each in record.get("filtered", [])
    ]


def typed_line(record: Mapping[str, Any]) -> str:
    """The numbers of a typed query as a sentence."""
    times, embedding = record["ms"], record["of_these_to_encode_ms"]
    return (
        f"From a typed sentence to ten results on {record['pictures']:,} pictures: p50 {times['p50']:.1f} ms, "
        f"p95 {times['p95']:.1f} ms over {record['sentences']} sentences, of which the text side takes "
        f"{embedding['p50']:.1f} and {embedding['p95']:.1f} ms ({record['hardware']['cores']} cores, "
        f"{record['hardware']['cpu']}); {record['allowed_p95_ms']:.0f} ms are allowed."
    )


def _ratio(record: Mapping[str, Any], key: str) -> str:
    return f" ({record['of_numpy'][key]:.2f})" if "of_numpy" in record else ""


def _pair(times: Mapping[str, float]) -> str:
    return f"{_short(times['p50'])} / {_short(times['p95'])}"


def _short(ms: float) -> str:
    return f"{ms:.2f}" if ms < 1 else f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}"
