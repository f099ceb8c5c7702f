"""Add a language to a model that was trained without it, and compare with a model that was trained with it.

python -m studies add-language DATASET --joint RUN --without cs=RUN fr=RUN --captions 1000 --seeds 0 1 2
    --vectors DATASET/vectors/captions --dictionary cs=freedict-eng-ces.index fr=freedict-eng-fra.index

Each LANG=RUN is a model without LANG. Route and epoch are selected on val; test is measured once per seed. A language
without test captions is measured on val.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.evaluation.run import evaluate
from lingvis.new_language.run import add_language
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

KEPT = ("route", "routes", "sentences", "with_picture", "with_translation", "measured_on", "values", "seconds",
        "pictures_same", "old_sentences_same")  # fmt: skip

PIVOT = "en"  # the other side of dictionaries


def one_seed(args: argparse.Namespace, lang: str, run: Path, seed: int, split: str) -> dict[str, Any]:
    """Add the language once; measure it, and with the first seed every old language."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{run.name}-{lang}"
        report = add_language(
            run,
            lang,
            args.dataset,
            out,
            route=args.route,
            captions=args.captions,
            vectors=args.vectors,
            dictionary=args.dictionaries.get(lang),
            pivot=PIVOT if lang in args.dictionaries else None,
            seed=seed,
            device=args.device,
        ).as_json()
        # Every seed leaves old embeddings bitwise the same, as the report states: one measurement is enough.
        after = measured(args, out, split, None if seed == args.seeds[0] else lang)
    return {
        "seed": seed,
        **{key: report[key] for key in KEPT},
        "val": {"before": report["before"], "after": report["after"], "old": report["old"]},
        "after": after.pop(lang),
        "old_after": after,
    }


def measured(args: argparse.Namespace, run: Path, split: str, lang: str | None = None) -> dict[str, float]:
    """mR by language."""
    report = evaluate(
        [run],
        args.dataset,
        protocol=args.protocol,
        split=split,
        languages=[lang] if lang else None,
        device=args.device,
    ).as_json()
    return {code: scores["mR"] for code, scores in report["languages"].items()}


def record(args: argparse.Namespace, lang: str, run: Path) -> dict[str, Any]:
    """All seeds of one language."""
    dataset = Dataset.open(args.dataset)
    tested = any(row.split == "test" and row.captions.get(lang) for row in dataset.rows)
    split = "test" if tested and not args.validation_only else "val"
    joint = measured(args, args.joint, split, lang)[lang]
    old_before = measured(args, run, split)
    runs = [one_seed(args, lang, run, seed, split) for seed in args.seeds]
    after = statistics.mean(each["after"] for each in runs)
    changes = [abs(runs[0]["old_after"][code] - before) for code, before in old_before.items()]
    return {
        "lang": lang,
        "model": run.resolve().name,
        "joint_model": args.joint.resolve().name,
        "dataset": dataset.path.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "split": split,
        "protocol": args.protocol,
        "captions": args.captions,
        "vectors": str(args.vectors.name) if args.vectors else None,
        "dictionary": args.dictionaries[lang].name if lang in args.dictionaries else None,
        "selection": "route and epoch of best mR on val, then the split once",
        "joint": joint,
        "zero_shot": measured(args, run, split, lang)[lang],
        "after": after,
        "share_of_joint": 100 * after / joint,
        "old_before": old_before,
        "largest_change_of_old": max(changes),
        "seconds": statistics.mean(each["seconds"] for each in runs),
        **origin(),
        "runs": runs,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append one record per language."""
    parser = make_parser("add-language", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--joint", type=Path, required=True)
    parser.add_argument("--without", nargs="+", required=True, metavar="LANG=RUN")
    parser.add_argument("--captions", type=int, default=1000)
    parser.add_argument(
        "--vectors", type=Path, help="word vectors of the language; trained on its captions by default"
    )
    parser.add_argument(
        "--dictionary", nargs="+", default=[], metavar="LANG=FILE", help="into or from English"
    )
    parser.add_argument("--route", help="one route alone; all by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--protocol", default="all")
    add_out(parser, "results/new-language")
    parser.add_argument("--name", default="{lang}", help="name of a record, such as {lang}-300")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--validation-only", action="store_true", help="test is not measured")
    args = parser.parse_args(arguments)
    pairs = [pair.partition("=") for pair in args.dictionary]
    if not all(file for _, _, file in pairs):
        parser.error("--dictionary needs LANG=FILE, such as cs=freedict-eng-ces.index")
    args.dictionaries = {lang: Path(file) for lang, _, file in pairs}
    for pair in args.without:
        lang, _, run = pair.partition("=")
        measurement = record(args, lang, Path(run))
        about = {"name": args.name.format(lang=lang), "study": "add-language"}
        append(args.out / RUNS, {**about, **measurement})
        print(
            f"{lang}: {measurement['zero_shot']:.1f} zero-shot, {measurement['after']:.1f} with {args.captions} captions, "
            f"{measurement['joint']:.1f} jointly ({measurement['share_of_joint']:.0f} %), {measurement['seconds']:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
