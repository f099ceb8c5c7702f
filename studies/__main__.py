"""`python -m studies NAME`: reproduce a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.cli import run
from studies import many_runs
from studies.commands import app

app.command(many_runs.transfer)
app.command(many_runs.sparse)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: bad input ends with one sentence and exit code 2."""
    run(app, arguments)


if __name__ == "__main__":
    main()
