"""Damaged pictures, odd requests and damaged model folders for minutes: no crash, hang, 500 or traceback.

python -m studies fuzz [--minutes 20] [--seed 0] [--kinds pictures heads ...]
python -m studies fuzz --kinds heads --seed 0 --only 43     replay one case

The same cases run for about a minute in `make test`, with seed 0. Faults are in the record and end the study with an
error.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.arguments import add_out, make_parser
from studies.fuzz.checks import KINDS, run_kind
from studies.fuzz.outcome import Outcome
from studies.fuzz.target import Target, make_target
from studies.records import RUNS, append, check_writable, origin

# Cases of a kind that run in turn with those of the others.
ROUND = {"pictures": 2000, "uploads": 200, "indexing": 200, "parameters": 400, "heads": 1000, "models": 200}
SHOWN_FAULTS = 20


def fuzz(target: Target, kinds: Sequence[str], seed: int, seconds: float) -> list[Outcome]:
    """Rounds of all kinds until the time is over; every kind has at least one."""
    outcomes = []
    until = time.monotonic() + seconds
    for turn in itertools.count():
        for kind in kinds:
            for outcome in run_kind(kind, target, seed, turn * ROUND[kind], ROUND[kind]):
                outcomes.append(outcome)
                if outcome.verdict == "fault":
                    print(outcome, file=sys.stderr, flush=True)
                if turn and time.monotonic() > until:
                    return outcomes
        if time.monotonic() > until:
            return outcomes
    return outcomes


def summary(kind: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts, the slowest case and the faults of a kind."""
    of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
    counts = Counter(outcome.verdict for outcome in of_kind)
    per_outcome = ROUND[kind] if kind == "indexing" else 1
    return {
        "cases": len(of_kind) * per_outcome,
        "accepted": counts["accepted"],
        "rejected": counts["rejected"],
        "faults": counts["fault"],
        "slowest_seconds": max((outcome.seconds for outcome in of_kind), default=0.0),
        "first_faults": [str(outcome) for outcome in of_kind if outcome.verdict == "fault"][:SHOWN_FAULTS],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, append the record; faults end with an error."""
    parser = make_parser("fuzz", __doc__)
    add_out(parser, "results/fuzz")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", type=int, metavar="N", help="run case N of each kind and store nothing")
    args = parser.parse_args(arguments)
    check_writable(args.out)
    with tempfile.TemporaryDirectory(prefix="lingvis-fuzz-") as folder:
        target = make_target(Path(folder))
        if args.only is not None:
            for kind in args.kinds:
                for outcome in run_kind(kind, target, args.seed, args.only, 1):
                    print(outcome.verdict, outcome)
            return
        began = time.monotonic()
        outcomes = fuzz(target, args.kinds, args.seed, args.minutes * 60)
        took = time.monotonic() - began
    kinds = {kind: summary(kind, outcomes) for kind in args.kinds}
    record = {"name": f"fuzz-{args.seed}", "study": "fuzz", "seed": args.seed, **origin()}
    append(args.out / RUNS, {**record, "seconds": round(took), "kinds": kinds})
    for kind, values in kinds.items():
        print(kind, {key: value for key, value in values.items() if key != "first_faults"})
    if faults := sum(values["faults"] for values in kinds.values()):
        sys.exit(f"{faults} faults; see the record")


if __name__ == "__main__":
    main()
