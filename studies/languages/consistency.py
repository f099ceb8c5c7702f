"""Cross-lingual consistency (CLC) of trained models, and translated queries to an English model: one record.

python -m studies consistency DATASET --model smalr=RUN lingvis_frozen=RUN --english RUN
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.evaluation.run import evaluate
from studies.arguments import add_out, make_parser
from studies.records import RUNS, Record, append, origin

PROTOCOL = "flickr8k-ml-parallel"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, evaluate, append the record."""
    parser = make_parser("consistency", __doc__)
    parser.add_argument("dataset", type=Path)
    add_out(parser, "results/languages")
    parser.add_argument("--model", nargs="+", required=True, metavar="NAME=RUN")
    parser.add_argument("--english", type=Path, required=True, help="a model of English alone")
    args = parser.parse_args(arguments)
    record: Record = {"name": "consistency", "study": "consistency", "protocol": PROTOCOL, **origin()}
    record["models"] = {}
    for model in args.model:
        name, _, folder = model.partition("=")
        run = [Path(folder)]
        reports = {"single": evaluate(run, args.dataset, protocol=PROTOCOL).as_json()}
        for method in ("mean", "learned"):
            reports[method] = evaluate(run, args.dataset, protocol=PROTOCOL, consistency=method).as_json()
        record["models"][name] = reports
    record["translate_to_en"] = evaluate(
        [args.english], args.dataset, protocol=PROTOCOL, translate_to="en"
    ).as_json()
    append(args.out / RUNS, record)


if __name__ == "__main__":
    main()
