"""`lingvis suggest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number


def suggest(
    dataset: Path,
    /,
    *,
    count: Annotated[int, Parameter(name=["--count", "-n"], validator=Number(gte=1))],
    features: str | None = None,
    model: Path | None = None,
    lang: str | None = None,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 0,
    out: Path | None = None,
    page: Path | None = None,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Say which pictures of split train to annotate next: typical ones of every kind that has no captions yet.

    Parameters
    ----------
    dataset: Path
        The dataset folder, with features extracted.
    count: int
        How many pictures; all that have no captions where these are fewer.
    features: str
        The stored features by which pictures are alike; by default the model's, or the only ones.
    model: Path
        A run: of like pictures, those come first that it is unsure of.
    lang: str
        Pictures without captions in this language; by default those without any.
    seed: int
        Another seed groups the pictures in another way.
    out: Path
        Write the names to this file, one a line, instead of printing them; for data.annotated.
    page: Path
        Write a page with the pictures and the reasons to this HTML file.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print names, scores and reasons as JSON.
    """
    import sys

    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.files import write_text
    from lingvis.suggestion.page import write_page
    from lingvis.suggestion.run import suggest as find

    opened = Dataset.open(dataset)
    found = find(opened, count, features=features, model=model, lang=lang, seed=seed, device=device)
    if found.candidates < count:
        print(
            f"note: only {found.candidates} pictures are without captions; these are all of them",
            file=sys.stderr,
        )
    if out is not None:
        write_text(out, found.lines())
    if page is not None:
        write_page(page, found, opened.images_dir)
    if json:
        print_json(found.as_json())
    elif out is None:
        print(found.lines(), end="")
    else:
        print(f"{out}: {len(found.pictures)} of {found.candidates} pictures without captions")
