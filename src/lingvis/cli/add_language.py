"""`lingvis add-language`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number


def add_language(
    run: Path,
    lang: str,
    dataset: Path,
    /,
    *,
    out: Path,
    route: Literal["characters", "mapped", "distilled", "both", "glossed"] | None = None,
    captions: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    vectors: Path | None = None,
    dictionary: Path | None = None,
    pivot: str | None = None,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Teach a model one more language; its pictures and its other languages stay as they are, to the bit.

    Parameters
    ----------
    run: Path
        The model folder.
    lang: str
        The new language, a code such as cs.
    dataset: Path
        A dataset folder with captions in it, or with sentences and their translations alone.
    out: Path
        The model folder to write: RUN with one more language.
    route: str
        Take this route alone; by default all are tried, and the best on validation is kept.
    captions: int
        Learn from so many sentences only.
    vectors: Path
        Word vectors of the language, a file (.vec, .bin) or DATASET/vectors/NAME; trained on its sentences by default.
    dictionary: Path
        A dictionary between the language and --pivot, in either direction; what translations tell of words is used, too.
    pivot: str
        The language of the model on the other side of the dictionary; the one with most translations by default.
    seed: int
        Another seed draws other sentences and batches.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print the report as JSON.
    """
    import sys

    from lingvis.cli.output import print_json
    from lingvis.new_language.run import add_language as add

    try:
        report = add(
            run,
            lang,
            dataset,
            out,
            route=route,
            captions=captions,
            vectors=vectors,
            dictionary=dictionary,
            pivot=pivot,
            seed=seed,
            device=device,
        ).as_json()
    except KeyboardInterrupt:
        print(f"lingvis: stopped; {out} was not written", file=sys.stderr)
        sys.exit(130)
    if json:
        print_json(report)
    else:
        _tell(report, out)


def _tell(report: dict[str, Any], out: Path) -> None:
    from lingvis.cli.output import print_table
    from lingvis.model.card import added_sentences, route_rows

    print_table(
        f"routes to {report['lang']}", ["route", "mR", "epoch", "seconds", "values"], route_rows(report)
    )
    old = [(lang, each["before"], each["after"]) for lang, each in report["old"].items()]
    before = "none" if report["before"] is None else report["before"]
    print_table(
        "mR before and after",
        ["language", "before", "after"],
        [(report["lang"], before, report["after"]), *old],
    )
    for sentence in added_sentences(report):
        print(sentence)
    print(f'search a collection that is there already: lingvis search COLLECTION "..." --model {out}')
