"""Tables of attacks: clients beside an attacker, and damaged input."""

from __future__ import annotations

from studies.siege.attacks import ATTACKS
from studies.tables.markdown import table
from studies.tables.results.records import Results

MISSING = "Not measured yet."


def siege(results: Results) -> str:
    """Latencies of clients before and during each attack, from another address and from theirs."""
    records = results.where("siege", study="siege")
    if not records:
        return MISSING
    rows = [
        [
            f"`{record['attack']}`",
            (ATTACKS[record["attack"]].__doc__ or "").rstrip("."),
            "the clients'" if record["source"] == "same" else "another",
            *(
                f"{record[phase]['ms'][key]:.0f}"
                for phase in ("calm", "attacked")
                for key in ("p50", "p95", "p99")
            ),
            f"{record['p95_ratio']:.1f}",
            f"{100 * record['attacked']['lost_share']:.1f}",
            f"{record['connections_per_second']:.0f}",
            f"{record['log_bytes']:,}",
        ]
        for record in records
    ]
    head = [
        *("attack", "content", "source address"),
        *("p50 calm", "p95 calm", "p99 calm", "p50 attacked", "p95 attacked", "p99 attacked"),
        *("p95 ratio", "no result, %", "connections per s", "bytes logged"),
    ]
    first = records[0]
    intro = (
        f"{first['clients']} clients of {first['pictures']:,} pictures, one request per second each; "
        f"{first['calm_seconds']:.0f} s alone, then {first['seconds']:.0f} s beside the attacker, ms; "
        f"{first['hardware']['cores']} cores ({first['hardware']['cpu']}) for server, clients and attacker:"
    )
    return f"{intro}\n\n{table(head, rows, left=3)}"


def fuzz(results: Results) -> str:
    """Cases and faults per kind, over all seeds."""
    records = results.where("fuzz", study="fuzz")
    if not records:
        return MISSING
    kinds = dict.fromkeys(kind for record in records for kind in record["kinds"])
    rows = []
    for kind in kinds:
        of_kind = [record["kinds"][kind] for record in records if kind in record["kinds"]]
        sums = [sum(values[key] for values in of_kind) for key in ("cases", "accepted", "rejected", "faults")]
        slowest = max(values["slowest_seconds"] for values in of_kind)
        rows.append([kind, *(f"{value:,}" for value in sums), f"{slowest:.1f}"])
    seeds = ", ".join(str(record["seed"]) for record in records)
    seconds = sum(record["seconds"] for record in records)
    head = ["kind", "cases", "accepted", "rejected", "faults", "slowest, s"]
    return f"{seconds:.0f} s, seed {seeds}:\n\n{table(head, rows)}"
