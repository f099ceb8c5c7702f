"""`lingvis add-language`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from lingvis.cli.options import Count, Device, Json, ModelFolder, Seed
from lingvis.printing import print_line


def add_language(
    run: ModelFolder,
    lang: str,
    dataset: Path,
    /,
    *,
    out: Path,
    route: Literal["characters", "mapped", "distilled", "both", "glossed"] | None = None,
    captions: Count | None = None,
    vectors: Path | None = None,
    dictionary: Path | None = None,
    pivot: str | None = None,
    seed: Seed = 0,
    device: Device = None,
    json: Json = False,
) -> None:
    """Add a language to a model; image embeddings and other languages stay bitwise the same.

    Parameters
    ----------
    lang: str
        The new language, a code such as cs.
    dataset: Path
        A dataset folder with captions in the language, or with sentences and their translations.
    out: Path
        The model folder to write: RUN with one more language.
    route: str
        Use this route only; by default all are tried, and the best on held-out sentences is kept.
    captions: int
        Learn from at most N sentences.
    vectors: Path
        Word vectors of the language, a file (.vec, .bin) or DATASET/vectors/NAME; by default trained on its sentences.
    dictionary: Path
        A dictionary between the language and --pivot, in either direction; used in addition to the translations.
    pivot: str
        The language of the model on the other side of the dictionary; by default the language with most translations.
    seed: int
        Seed of the drawn sentences and batches.
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
        print_line(f"lingvis: stopped; {out} was not written", stderr=True)
        sys.exit(130)
    if json:
        print_json(report)
    else:
        _print(report, out)


def _print(report: dict[str, Any], out: Path) -> None:
    from lingvis.cli.output import print_table
    from lingvis.model.card import ROUTE_COLUMNS, added_sentences, route_rows

    print_table(f"routes to {report['lang']}", ROUTE_COLUMNS, route_rows(report))
    old = [(lang, scores["before"], scores["after"]) for lang, scores in report["old"].items()]
    before = "none" if report["before"] is None else report["before"]
    print_table(
        "mR before and after",
        ["language", "before", "after"],
        [(report["lang"], before, report["after"]), *old],
    )
    for sentence in added_sentences(report):
        print_line(sentence)
    print_line(f'search an existing collection: lingvis search COLLECTION "..." --model {out}')
