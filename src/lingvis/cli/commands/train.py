"""`lingvis train`."""

from __future__ import annotations

import sys
from pathlib import Path

from lingvis.cli.options import Count, DatasetWithFeatures, Device, Json, Ray, Switch
from lingvis.printing import print_line


def train(
    recipe: str,
    dataset: DatasetWithFeatures,
    /,
    *overrides: str,
    out: Path,
    resume: Switch = False,
    processes: Count | None = None,
    ray: Ray = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Train a recipe on a dataset; the best model on validation is written to --out.

    Parameters
    ----------
    recipe: str
        A built-in recipe (see `lingvis recipes list`) or a .toml file.
    overrides: str
        Values to change, such as training.epochs=5 or data.languages='["de"]'.
    out: Path
        The model folder to write.
    resume: bool
        Continue from the checkpoint in --out.
    processes: int
        Number of processes that train together, with the result of one: 1 by default; with --ray, one per GPU, or one
        per machine without GPUs.
    """
    from lingvis.cli.cluster import connected
    from lingvis.cli.output import print_json
    from lingvis.model.card import describe_sizes
    from lingvis.model.folder import CHECKPOINT
    from lingvis.processes.group import OtherProcessError, started_number
    from lingvis.training.loop.record import TrainingInterrupt
    from lingvis.training.run import train as run

    if processes is not None and processes > 1 and ray is None:
        from lingvis.processes.launch import run_processes

        options = ["--out", str(out), *(["--resume"] if resume else []), *(["--json"] if json else [])]
        options += [] if device is None else ["--device", device]
        words = ["train", recipe, str(dataset), *overrides, *options]
        sys.exit(run_processes(words, processes, device=device))
    try:
        with connected(ray) as cluster:
            if cluster is None:
                config = run(recipe, dataset, out, overrides=overrides, resume=resume, device=device).config
            else:
                from lingvis.ray.training import train_on

                config = train_on(
                    cluster,
                    recipe,
                    dataset,
                    out,
                    overrides=overrides,
                    resume=resume,
                    processes=processes,
                    device=device,
                )
    except OtherProcessError:
        sys.exit(2)
    except (TrainingInterrupt, KeyboardInterrupt):
        if started_number():
            sys.exit(130)
        stored = (out / CHECKPOINT).exists()
        advice = (
            "resume with the same command and --resume" if stored else "nothing was stored yet, start again"
        )
        print_line(f"lingvis: stopped; {advice}", stderr=True)
        sys.exit(130)
    if started_number():
        return
    if json:
        print_json(config.model_dump(mode="json"))
        return
    training = config.training
    print_line(
        f"{out}: epoch {training.best_epoch} is best, validation mR {training.validation_mR:.2f}, "
        f"{training.seconds} s"
    )
    print_line(describe_sizes(config.parameters))
    print_line(f"next: lingvis evaluate {out} {dataset}")
