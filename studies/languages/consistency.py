"""Cross-lingual consistency of trained models, and an English model asked through translations: one record.

python benchmarks/consistency.py DATASET --out results/languages/consistency.json --model smalr=RUN lingvis=RUN --english RUN
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lingvis.evaluation.run import evaluate
from lingvis.files import write_json
from lingvis.hardware import describe_hardware

PROTOCOL = "flickr8k-ml-parallel"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", nargs="+", required=True, help="name=folder")
    parser.add_argument("--english", type=Path, required=True, help="a model of English alone")
    args = parser.parse_args()
    record: dict[str, Any] = {"protocol": PROTOCOL, "hardware": describe_hardware()}
    for model in args.model:
        name, _, folder = model.partition("=")
        run = [Path(folder)]
        record[name] = {"single": evaluate(run, args.dataset, protocol=PROTOCOL).as_json()}
        for how in ("mean", "learned"):
            record[name][how] = evaluate(run, args.dataset, protocol=PROTOCOL, consistency=how).as_json()
    record["translate_to_en"] = evaluate(
        [args.english], args.dataset, protocol=PROTOCOL, translate_to="en"
    ).as_json()
    write_json(args.out, record)


if __name__ == "__main__":
    main()
