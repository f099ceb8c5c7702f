"""Models on human and on machine-translated test sentences of one language (SMALR, Table 17): one record.

python -m studies sentences DATASET --model smalr=RUN mule=RUN ...

DATASET has machine translations of its test captions: lingvis data translate DATASET --from en --to pt --split test
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, append, origin

PROTOCOLS = {"human": "flickr8k-ml", "machine": "translated"}


def both_kinds(dataset: Dataset) -> list[str]:
    """The languages with human and with machine-translated test captions."""
    test = [row for row in dataset.rows if row.split == "test"]
    human = dict.fromkeys(lang for row in test for lang in row.captions)
    machine = {lang for row in test for lang in row.translated}
    if not machine:
        raise UserError(
            f"{dataset.path} has no translated captions in split test; make some with: "
            f"lingvis data translate {dataset.path} --from en --to pt --split test"
        )
    return [lang for lang in human if lang in machine]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, evaluate, append the record."""
    parser = make_parser("sentences", __doc__)
    parser.add_argument("dataset", type=Path)
    add_out(parser, "results/languages")
    parser.add_argument("--model", nargs="+", required=True, metavar="NAME=RUN")
    add_device(parser)
    args = parser.parse_args(arguments)
    dataset = Dataset.open(args.dataset)
    languages = both_kinds(dataset)
    models = {}
    for name, _, run in (model.partition("=") for model in args.model):
        models[name] = {
            kind: {
                lang: scores.as_json()
                for lang, scores in evaluate(
                    Path(run), dataset, protocol=protocol, languages=languages, device=args.device
                ).languages.items()
            }
            for kind, protocol in PROTOCOLS.items()
        }
    made = {
        f"{source}-{lang}": translation.translator
        for row in dataset.rows
        if row.split == "test"
        for lang in languages
        for source, translation in row.translated.get(lang, {}).items()
    }
    record = {
        "name": "sentences",
        "study": "sentences",
        "dataset": dataset.path.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "split": "test",
        "protocols": PROTOCOLS,
        "translators": made,
        **origin(),
        "models": models,
    }
    append(args.out / RUNS, record)


if __name__ == "__main__":
    main()
