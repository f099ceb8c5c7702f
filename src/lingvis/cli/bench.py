"""`lingvis bench`: measurements that anyone can repeat."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

app = App(name="bench", help="Measure things that lingvis claims.")


@app.command
def pooling(*, out: Path = Path("results/pooling"), json: bool = False) -> None:
    """The synthetic pooling study of VSE-infinity: which coefficient generator learns which pooling.

    Parameters
    ----------
    out: Path
        Folder for pooling.json, pooling.csv and pooling.png.
    json: bool
        Print JSON instead of a table.
    """
    from lingvis.bench.pooling import run_pooling_study
    from lingvis.bench.pooling_report import pooling_table
    from lingvis.cli.output import print_json

    found = run_pooling_study(out)
    if json:
        print_json(found)
    else:
        print(pooling_table(found))


@app.command
def ranks(*, out: Path = Path("results/ranks"), json: bool = False) -> None:
    """Time exact ranking of 5,000 pictures x 25,000 captions against the usual sorting loop.

    Parameters
    ----------
    out: Path
        Folder for ranks.json.
    json: bool
        Print JSON instead of lines.
    """
    from lingvis.bench.ranks import run_rank_benchmark
    from lingvis.cli.output import print_json

    found = run_rank_benchmark(out)
    if json:
        print_json(found)
    else:
        for key, value in found.items():
            print(f"{key}: {value}")
