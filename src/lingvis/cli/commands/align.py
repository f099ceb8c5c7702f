"""`lingvis align`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from lingvis.cli.options import Count, Device, Json, Seed, Switch
from lingvis.printing import print_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lingvis.text.alignment.report import AlignmentReport


def align(
    source: str,
    target: str,
    dictionary: Path | None = None,
    /,
    *,
    out: Path,
    parallel: Path | None = None,
    langs: tuple[str, str] | None = None,
    method: Literal["rcsls", "procrustes"] = "rcsls",
    neighbours: Annotated[int, Parameter(validator=Number(gte=1, lte=1000))] = 10,
    spectral: Switch = False,
    words: Count = 200_000,
    held_out: Annotated[float, Parameter(validator=Number(gt=0, lt=1))] = 0.2,
    seed: Seed = 0,
    device: Device = None,
    json: Json = False,
) -> None:
    """Map the word vectors of one language into the space of another, and measure how well translations are found.

    Parameters
    ----------
    source: str
        The vectors to map: a .vec, .txt, .gz or .bin file, or stored vectors as DATASET/vectors/NAME:LANG.
    target: str
        The vectors of the target space, named in the same way.
    dictionary: Path
        Dictionary from the source into the target language: FreeDict's .index, MUSE's text or a .csv file.
    out: Path
        The folder to write: map.safetensors, source.vec, target.vec and report.json.
    parallel: Path
        Instead of a dictionary: a dataset with parallel sentences, from which a dictionary is induced.
    langs: tuple[str, str]
        With --parallel: source and target language, such as de fr.
    method: str
        rcsls, optimized to find translations, or procrustes, a rotation.
    neighbours: int
        Number of nearest words that RCSLS and CSLS compare with.
    spectral: bool
        Keep the singular values of RCSLS at 1 or below, so that no direction is stretched.
    words: int
        Use only the first N words of each file.
    held_out: float
        Share of the dictionary's words to measure the map with; they are not used to fit it.
    seed: int
        Seed of the choice of held-out words.
    """
    from lingvis.cli.output import print_json
    from lingvis.text.alignment.run import align as run

    report = run(
        source,
        target,
        _dictionary(dictionary, parallel, langs),
        out,
        method=method,
        neighbours=neighbours,
        spectral=spectral,
        words=words,
        held_out=held_out,
        seed=seed,
        device=device,
    )
    if json:
        print_json(report.as_json())
    else:
        _print(report, out)


def _dictionary(
    file: Path | None, parallel: Path | None, langs: tuple[str, str] | None
) -> Mapping[str, tuple[str, ...]]:
    from lingvis.errors import UserError
    from lingvis.text.alignment.run import induced
    from lingvis.text.dictionaries import read_dictionary

    if file is not None and parallel is None and langs is None:
        return read_dictionary(file)
    if file is None and parallel is not None and langs is not None:
        return induced(parallel, langs)
    raise UserError(
        "alignment needs a dictionary or parallel sentences; name a dictionary file after the vectors, or "
        "give --parallel DATASET with --langs SOURCE TARGET, such as --langs de fr"
    )


def _print(report: AlignmentReport, out: Path) -> None:
    from lingvis.cli.output import print_table

    print_table(
        f"{report.fitted_pairs} pairs fitted, {report.held_out_words} held-out words: accuracy at 1 in %",
        ["map", "nearest", "CSLS", "seconds"],
        [(name, row.nn, row.csls, row.seconds) for name, row in report.maps.items()],
    )
    print_line(
        f"{out}: source.vec and target.vec are in one space, map.safetensors is the map of {report.method}"
    )
