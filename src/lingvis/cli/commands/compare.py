"""`lingvis compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lingvis.cli.options import Device, Json, Langs
from lingvis.errors import UserError
from lingvis.evaluation.protocols import PROTOCOLS


def compare(
    *folders: Annotated[
        Path, Parameter(help="Two or more model folders, then the dataset folder with their features.")
    ],
    split: str | None = None,
    languages: Langs = None,
    protocol: Annotated[str, Parameter(help=f"A named protocol: {', '.join(PROTOCOLS)}.")] = "all",
    device: Device = None,
    json: Json = False,
) -> None:
    """Compare models on one dataset: lingvis compare RUN RUN... DATASET.

    One table: mR per language and run, chance, and the difference of each run to the first with an interval of 95 %
    (paired bootstrap over pictures). A warning names what the test set does not decide.

    Parameters
    ----------
    split: str
        train, val or test; by default the first of the protocol.
    """
    from lingvis.cli.output import print_json
    from lingvis.evaluation.compare import compare as measure
    from lingvis.evaluation.report.comparison import print_comparison

    if len(folders) < 3:
        raise UserError(
            f"got {len(folders)} folders, but two or more models and a dataset are needed; write: "
            "lingvis compare RUN RUN DATASET"
        )
    *runs, dataset = folders
    comparison = measure(runs, dataset, protocol=protocol, split=split, languages=languages, device=device)
    if json:
        print_json(comparison.as_json())
    else:
        print_comparison(comparison)
