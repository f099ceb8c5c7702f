"""The commands of `python -m studies` that train many runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from studies.commands import Several


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends a study with a line that says how to go on."""
    from lingvis.training.loop.record import Interrupted

    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        print("lingvis: stopped; the same command goes on where it was", file=sys.stderr)
        sys.exit(130)


def transfer(
    dataset: Path,
    /,
    *overrides: str,
    source: str,
    target: str,
    out: Path = Path("results/transfer"),
    sizes: Annotated[tuple[int, ...], Several] = (100, 300, 1000, 3000, 0),
    seeds: Annotated[tuple[int, ...], Several] = (0, 1, 2),
    methods: Annotated[tuple[str, ...], Several] = (),
    dictionary: Path | None = None,
    work: Path = Path("runs/transfer"),
    at_once: int = 1,
    device: str | None = None,
    json: bool = False,
) -> None:
    """The learning curve of Translator: recall against the number of captions in a new language.

    Runs that have a record in --out are not trained again; a stopped command goes on where it was.

    Parameters
    ----------
    dataset: Path
        The dataset folder, with features extracted and word vectors trained.
    overrides: str
        Values for all runs, the source models' too, such as training.epochs=5.
    source: str
        The language of the model to begin with, such as de.
    target: str
        The language to bring it to, such as fr.
    out: Path
        Folder for SOURCE-TARGET.csv, SOURCE-TARGET.png and one record a run.
    sizes: tuple[int, ...]
        Numbers of target captions to learn from; 0 is all.
    seeds: tuple[int, ...]
        Each seed has a source model, draws its own captions and starts from its own weights.
    methods: tuple[str, ...]
        Some of fs, fs-image, t1, t2-procrustes and t2-rcsls; all by default.
    dictionary: Path
        A dictionary from the target into the source language for t2; induced from parallel sentences by default.
    work: Path
        Folder for models: those of the source language stay there for other pairs.
    at_once: int
        Runs to train at the same time, each in a process.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print the records as JSON instead of a table.
    """
    from lingvis.cli.output import print_json, print_table
    from studies.transfer.report import transfer_table
    from studies.transfer.run import run_transfer_benchmark

    with stoppable():
        records = run_transfer_benchmark(
            dataset,
            out,
            source=source,
            target=target,
            sizes=sizes,
            seeds=seeds,
            methods=methods,
            overrides=overrides,
            dictionary=dictionary,
            work=work,
            device=device,
            at_once=at_once,
        )
    if json:
        print_json(records)
        return
    columns, rows = transfer_table(records)
    print_table(f"{source} -> {target}, split {records[0]['split']}, by number of captions", columns, rows)
    print(f"{out / f'{source}-{target}.csv'} and {out / f'{source}-{target}.png'} hold all numbers")


def sparse(
    dataset: Path,
    /,
    *overrides: str,
    out: Path = Path("results/sparse"),
    images: Annotated[tuple[float, ...], Several] = (0.1, 0.2, 0.5),
    per_image: Annotated[tuple[int, ...], Several] = (1, 2, 5),
    seeds: Annotated[tuple[int, ...], Several] = (0, 1, 2),
    methods: Annotated[tuple[str, ...], Several] = (),
    ablations: Annotated[bool, Parameter(negative="")] = False,
    lang: str = "en",
    tags: str = "global",
    wordnet: Path | None = None,
    work: Path = Path("runs/sparse"),
    keep: Annotated[bool, Parameter(negative="")] = False,
    at_once: int = 1,
    device: str | None = None,
    json: bool = False,
) -> None:
    """The sparse-annotation study of A3VSE: recall against the number of annotated pairs.

    Runs that have a record in --out are not trained again; a stopped command goes on where it was.

    Parameters
    ----------
    dataset: Path
        The dataset folder, with detections and region features.
    overrides: str
        Values for all runs, such as training.epochs=5 or data.features=NAME.
    out: Path
        Folder for sparse.csv, sparse.png and one record a run.
    images: tuple[float, ...]
        Shares of the training images that are annotated.
    per_image: tuple[int, ...]
        Captions of each of these; 0 is all.
    seeds: tuple[int, ...]
        Each seed draws its own annotation, the same for all methods, and starts from its own weights.
    methods: tuple[str, ...]
        Some of a3vse, vsepp, vse_infinity_region, scan_t2i and s_g, all by default; or ablations such as no-s.
    ablations: bool
        Measure A3VSE with parts left out, too, at 10 % of the images with 5 captions each.
    lang: str
        The language of the captions.
    tags: str
        The stored detections whose labels s_g matches to sentences.
    wordnet: Path
        WordNet's data files for s_g, such as /usr/share/wordnet; without them words must be the same as the tags.
    work: Path
        Folder for models while they are trained.
    keep: bool
        Leave the models there, for `lingvis evaluate --map`.
    at_once: int
        Runs to train at the same time, each in a process.
    device: str
        cpu or cuda; a GPU is used when there is one.
    json: bool
        Print the records as JSON instead of tables.
    """
    from lingvis.cli.output import print_json, print_table
    from studies.sparse.report import ablation_table, sparse_table
    from studies.sparse.run import run_sparse_study

    with stoppable():
        records = run_sparse_study(
            dataset,
            out,
            images=images,
            per_image=per_image,
            seeds=seeds,
            methods=methods,
            ablations=ablations,
            lang=lang,
            tags=tags,
            wordnet=wordnet,
            overrides=overrides,
            work=work,
            keep=keep,
            device=device,
            at_once=at_once,
        )
    if json:
        print_json(records)
        return
    print_table(f"mR, {lang}, split test, by annotation", *sparse_table(records))
    columns, rows = ablation_table(records)
    if rows:
        print_table("A3VSE with parts left out, 10 % of the images x 5", columns, rows)
    print(f"{out / 'sparse.csv'} and {out / 'sparse.png'} hold all numbers")
