"""`lingvis suggest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from lingvis.cli.options import DatasetWithFeatures, Device, Json, Seed
from lingvis.printing import print_line


def suggest(
    dataset: DatasetWithFeatures,
    /,
    *,
    count: Annotated[int, Parameter(name=["--count", "-n"], validator=Number(gte=1))],
    features: str | None = None,
    model: Path | None = None,
    lang: str | None = None,
    seed: Seed = 0,
    out: Path | None = None,
    page: Path | None = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Suggest pictures of split train to annotate next: typical pictures of every kind without captions.

    Parameters
    ----------
    count: int
        Number of pictures to suggest.
    features: str
        The stored features that similarity is measured on; by default the model's features, or the only ones.
    model: Path
        Rank similar pictures by the uncertainty of this model.
    lang: str
        Suggest pictures without captions in this language; by default pictures without any captions.
    seed: int
        Seed of the clustering.
    out: Path
        Write the names to this file, one per line, instead of printing them; for data.annotated.
    page: Path
        Write a page with the pictures and the reasons to this HTML file.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.files import write_text
    from lingvis.progress import note
    from lingvis.suggestion.page import write_page
    from lingvis.suggestion.run import suggest as find

    opened = Dataset.open(dataset)
    suggestions = find(opened, count, features=features, model=model, lang=lang, seed=seed, device=device)
    if suggestions.candidates < count:
        note(f"only {suggestions.candidates} pictures have no captions; all of them are suggested")
    if out is not None:
        write_text(out, suggestions.lines())
    if page is not None:
        write_page(page, suggestions, opened.images_dir)
    if json:
        print_json(suggestions.as_json())
    elif out is None:
        for picture in suggestions.pictures:
            print_line(picture.image)
    else:
        print_line(
            f"{out}: {len(suggestions.pictures)} of {suggestions.candidates} pictures without captions"
        )
