"""The commands of `python -m studies` that measure one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

Several = Parameter(consume_multiple=True, negative="")

app = App(name="studies", help="Reproduce our measurements.", suppress_keyboard_interrupt=False)


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
    from lingvis.cli.output import print_json
    from studies.pooling.report import pooling_table
    from studies.pooling.study import run_pooling_study

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
    from lingvis.cli.output import print_json
    from studies.ranks import run_rank_benchmark

    found = run_rank_benchmark(out)
    if json:
        print_json(found)
    else:
        for key, value in found.items():
            print(f"{key}: {value}")


@app.command
def search(
    *,
    out: Path = Path("results/search"),
    sizes: Annotated[tuple[int, ...], Several] = (100_000, 1_000_000),
    engines: Annotated[tuple[str, ...], Several] = (),
    dim: int = 1024,
    typed: int = 100_000,
    model: Path | None = None,
    work: Path | None = None,
    json: bool = False,
) -> None:
    """Compare search engines on made-up vectors, and time a typed question from end to end.

    What is in the folder already, made under the same conditions, is not measured again.

    Parameters
    ----------
    out: Path
        Folder for vectors-SIZE.json and typed.json.
    sizes: tuple[int, ...]
        Numbers of vectors.
    engines: tuple[str, ...]
        Some of lance, lance-exact, postgres, postgres-exact, numpy and usearch; all by default.
    dim: int
        Values of a vector.
    typed: int
        Pictures of the collection that typed questions go to; 0 leaves that out.
    model: Path
        The model folder for typed questions; an untrained one of recipe lingvis by default.
    work: Path
        A folder on a disk with room, 20 GB for a million vectors; a temporary one by default.
    json: bool
        Print JSON instead of tables.
    """
    from lingvis.cli.output import print_json, print_table
    from studies.search.report import COLUMNS, LEGEND, engine_rows, typed_line
    from studies.search.run import run_search_benchmark
    from studies.search.typed import run_typed_benchmark

    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    asked = run_typed_benchmark(out, pictures=typed, model=model, work=work) if typed else None
    records = run_search_benchmark(out, sizes=sizes, engines=engines, dim=dim, work=work)
    if json:
        print_json({"vectors": records, "typed": asked})
        return
    for record in records:
        print_table(f"{record['vectors']:,} x {record['dim']}", COLUMNS, engine_rows(record))
    print(LEGEND)
    if asked is not None:
        print(typed_line(asked))
