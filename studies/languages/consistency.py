"""Cross-lingual consistency (CLC) of trained models, and translated queries to an English model: two records.

python -m studies consistency DATASET --model smalr=RUN lingvis_frozen=RUN --english RUN

The first record has the human translations of the dataset in five languages. The second has two languages at a time, with
human and with machine translations of the same sentences (SMALR, section 3.4; the models of --model that know both). The
machine translations are kept in --memory, outside of the repository: they are made of the dataset's sentences.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.run import evaluate
from lingvis.model.folder import ModelConfig
from studies.arguments import add_out, make_parser
from studies.languages.machine import MEMORY, TRANSLATORS, MachineTranslator
from studies.records import RUNS, Record, append, origin

PROTOCOL = "flickr8k-ml-parallel"
METHODS = ("mean", "learned")


def human_translations(args: argparse.Namespace, dataset: Dataset) -> Record:
    """All languages of the protocol, with the human translations."""
    record: Record = {"name": "consistency", "study": "consistency", "protocol": PROTOCOL, **origin()}
    record["models"] = {}
    for name, run in args.models.items():
        reports = {"single": evaluate(run, dataset, protocol=PROTOCOL).as_json()}
        for method in METHODS:
            reports[method] = evaluate(run, dataset, protocol=PROTOCOL, consistency=method).as_json()
        record["models"][name] = reports
    record["translate_to_en"] = evaluate(
        args.english, dataset, protocol=PROTOCOL, translate_to="en"
    ).as_json()
    return record


def machine_translations(args: argparse.Namespace, dataset: Dataset) -> Record:
    """Pairs of languages, with human and machine translations of the same sentences."""
    machine = MachineTranslator(args.memory)
    pairs: Record = {}
    for (english, other), translator in TRANSLATORS.items():
        protocol = replace(find_protocol(PROTOCOL), languages=(english, other), human=(english, other))
        pair: Record = {"translator": translator, "models": {}}
        for kind, translate in (("human", None), ("machine", machine)):
            pair[kind] = evaluate(
                args.english, dataset, protocol=protocol, translate_to=english, translator=translate
            ).as_json()
        for name, run in args.models.items():
            if not {english, other} <= set(ModelConfig.read(run).languages):
                continue
            reports: Record = {"single": evaluate(run, dataset, protocol=protocol).as_json()}
            for kind, translate in (("human", None), ("machine", machine)):
                reports[kind] = {
                    method: evaluate(
                        run, dataset, protocol=protocol, consistency=method, translator=translate
                    ).as_json()
                    for method in METHODS
                }
                reports[kind]["translated"] = {
                    source: evaluate(
                        run,
                        dataset,
                        protocol=protocol,
                        languages=[source],
                        translate_to=target,
                        translator=translate,
                    ).as_json()
                    for source, target in ((english, other), (other, english))
                }
            pair["models"][name] = reports
        pairs[f"{english}-{other}"] = pair
    return {
        "name": "consistency-machine",
        "study": "consistency",
        "protocol": PROTOCOL,
        "dataset_sha256": dataset.fingerprint,
        "translations_sha256": machine.digest,
        **origin(),
        "pairs": pairs,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, evaluate, append the records."""
    parser = make_parser("consistency", __doc__)
    parser.add_argument("dataset", type=Path)
    add_out(parser, "results/languages")
    parser.add_argument("--model", nargs="+", required=True, metavar="NAME=RUN")
    parser.add_argument("--english", type=Path, required=True, help="a model of English alone")
    parser.add_argument(
        "--memory", type=Path, default=MEMORY, help=f"file of machine translations, {MEMORY} by default"
    )
    args = parser.parse_args(arguments)
    args.models = {name: Path(run) for name, _, run in (model.partition("=") for model in args.model)}
    dataset = Dataset.open(args.dataset)
    for measure in (human_translations, machine_translations):
        append(args.out / RUNS, measure(args, dataset))


if __name__ == "__main__":
    main()
