"""Give a model of one language more languages: mR per language of the teacher and of its student.

python -m studies distilled-text DATASET --teacher-recipe lingvis_frozen --languages en --seeds 0 1 2 [section.key=value ...]

The teacher is trained with sentences of --languages alone, or named with --teacher RUN; section.key=value changes the
student. The student learns all languages of the dataset from the teacher's sentence embeddings, without pictures, and
keeps the teacher's image side. Epochs are selected on val; test is measured once per seed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.evaluation.run import evaluate
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.recipes.read import part_override
from lingvis.training.run import train
from studies.arguments import add_device, add_out, make_parser
from studies.recipe_values import describe, keep_shipped
from studies.records import RUNS, Record, append, find, origin

STUDENT = "distilled_text"


def student_overrides(teacher: Path) -> list[str]:
    """The values with which recipe distilled_text makes a student of a model folder."""
    config = ModelConfig.read(teacher)
    return [
        f"data.features={config.features.name}",
        *(part_override(f"image.{key}", part) for key, part in config.model.image if key != "pixels"),
        part_override("similarity", config.model.similarity),
        f'text.head={{name = "linear", dim = {Embedder.load(teacher, device="cpu").model.image.dim}}}',
        'teacher={name = "start"}',
        f"start.run={teacher}",
        'start.parts=["image", "similarity"]',
    ]


def make_teacher(args: argparse.Namespace, seed: int, folder: Path) -> Path:
    """The named teacher, or a new one that learns from sentences of --languages alone."""
    if args.teacher:
        teacher: Path = args.teacher
        return teacher
    overrides = [
        *args.teacher_overrides,
        f"data.languages={json.dumps(args.languages)}",
        f"training.seed={seed}",
    ]
    return train(args.teacher_recipe, args.dataset, folder, overrides=overrides, device=args.device).path


def one_seed(args: argparse.Namespace, seed: int, folder: Path) -> Record:
    """Train a teacher and its student, and measure both."""
    teacher = make_teacher(args, seed, folder / f"teacher-{seed}")
    overrides = [*student_overrides(teacher), *args.overrides, f"training.seed={seed}"]
    student = train(
        STUDENT, args.dataset, folder / f"student-{seed}", overrides=overrides, device=args.device
    )
    scores = measured(args, student.path)
    values = student.config.recipe
    values["start"]["run"] = teacher.name  # a record has no paths of a machine
    return {
        "seed": seed,
        **describe(STUDENT, values),
        "split": args.split,
        "protocol": args.protocol,
        "teacher": {
            "recipe": ModelConfig.read(teacher).recipe.get("name", ""),
            "languages": ModelConfig.read(teacher).languages,
            "parameters": ModelConfig.read(teacher).parameters,
            "mR": measured(args, teacher, list(scores)),
        },
        "student": {
            "training": student.config.training.model_dump(),
            "parameters": student.config.parameters,
            "mR": scores,
        },
    }


def measured(args: argparse.Namespace, run: Path, languages: Sequence[str] | None = None) -> dict[str, float]:
    """mR by language: those of the model, or `languages`, also those that it has never seen."""
    report = evaluate(
        [run],
        args.dataset,
        protocol=args.protocol,
        split=args.split,
        languages=languages,
        device=args.device,
    )
    return {lang: scores["mR"] for lang, scores in report.as_json()["languages"].items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, train the seeds without a record, print mR per language."""
    parser = make_parser("distilled-text", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*", help="values of the student, such as training.epochs=5")
    parser.add_argument("--teacher", type=Path, help="a model folder; trained by default")
    parser.add_argument("--teacher-recipe", default="lingvis_frozen", help="lingvis_frozen by default")
    parser.add_argument(
        "--teacher-overrides", nargs="+", default=[], metavar="KEY=VALUE", help="values of the teacher"
    )
    parser.add_argument("--languages", nargs="+", default=["en"], help="of the teacher; en by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--split", default="test", help="val for trials; test by default")
    parser.add_argument("--name", default=STUDENT, help=f"name of the records, {STUDENT} by default")
    parser.add_argument("--keep", type=Path, help="keep the model folders below this folder")
    add_out(parser, "results/distilled-text")
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    dataset = Dataset.open(args.dataset)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in args.seeds:
            name = f"{args.name}/{seed}"
            record = find(args.out / RUNS, name)
            if record is None:
                record = {
                    "name": name,
                    "study": "distilled-text",
                    "dataset": dataset.path.resolve().name,
                    "dataset_sha256": dataset.fingerprint,
                    "selection": "epoch of best mR on val, then the split once",
                    **one_seed(args, seed, args.keep or Path(scratch)),
                    **origin(),
                }
                keep_shipped(args.out, STUDENT)
                append(args.out / RUNS, record)
            teacher, student = record["teacher"]["mR"], record["student"]["mR"]
            for lang, score in student.items():
                print(f"{name} {lang}: teacher {teacher[lang]:.1f}, student {score:.1f}", flush=True)


if __name__ == "__main__":
    main()
