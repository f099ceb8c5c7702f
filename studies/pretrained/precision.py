"""A model in float32, float16 and int8: bytes, recalls, and milliseconds per sentence and picture on one core.

python -m studies precision RUN DATASET --name lingvis-base --split test

RUN: a model folder in float32. One record per precision; a precision that has a record is not measured again.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import torch

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.model.compress import compress, weight_bytes
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig, folder_bytes
from lingvis.model.precision import Precision, ReducedPrecision
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, Record, agrees, append, check_writable, find, origin

FOLDER = "precision"  # below results/
PRECISIONS: tuple[Precision, ...] = ("float32", *get_args(ReducedPrecision))
SENTENCES, PICTURES = 300, 60  # at most, of the split, encoded one at a time


def record_name(name: str, split: str, weights: Precision) -> str:
    """The name of the record of a model in one precision."""
    return f"{name}/{split}/{weights}"


def reduced(run: Path, weights: Precision, scratch: Path) -> Path:
    """The model folder in the given precision; float32 is the run itself."""
    if weights == "float32":
        return run
    compress(run, scratch / weights, weights=weights)
    return scratch / weights


def measure(model: Path, dataset: Dataset, *, protocol: str, split: str, device: str | None) -> Record:
    """Recalls, sizes and times of one model folder."""
    report = evaluate(model, dataset, protocol=protocol, split=split, device=device).as_json()
    config = ModelConfig.read(model)
    return {
        "image_fingerprint": config.image_fingerprint,
        "weight_bytes": weight_bytes(model, config),
        "folder_bytes": folder_bytes(model),
        **{key: report[key] for key in ("parameters", "languages", "A", "HA")},
        **speed(model, dataset, split=split, languages=list(report["languages"])),
    }


def speed(model: Path, dataset: Dataset, *, split: str, languages: list[str]) -> dict[str, Any]:
    """Median milliseconds on one core of a CPU: per sentence, and per picture with its decoding."""
    embedder = Embedder.load(model, device="cpu")
    captions = dataset.captions(split, languages)
    step = max(1, len(captions.texts) // SENTENCES)
    sentences = list(zip(captions.texts, captions.langs, strict=True))[::step][:SENTENCES]
    files = [dataset.images_dir / row.image for row in dataset.rows if row.split == split]
    with one_core():
        return {
            "ms_per_sentence": median_ms(lambda pair: embedder.encode_texts([pair[0]], pair[1]), sentences),
            "ms_per_picture": median_ms(lambda file: embedder.encode_images([file]), files[:PICTURES]),
        }


def median_ms(encode: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Median time of a call per item, after one call to warm up."""
    encode(items[0])
    times = []
    for item in items:
        began = time.perf_counter()
        encode(item)
        times.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(times), 3)


@contextmanager
def one_core() -> Iterator[None]:
    """Let torch use one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure the precisions without a record, print mR and sizes."""
    parser = make_parser("precision", __doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--name", help="name of the records, that of the folder by default")
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--split", default="test")
    add_out(parser, f"results/{FOLDER}")
    add_device(parser)
    args = parser.parse_args(arguments)
    check_writable(args.out)
    dataset = Dataset.open(args.dataset)
    name = args.name or args.run.resolve().name
    condition = {
        "dataset_sha256": dataset.fingerprint,
        "base_fingerprint": ModelConfig.read(args.run).image_fingerprint,
        "protocol": args.protocol,
    }
    for weights in PRECISIONS:
        record = find(args.out / RUNS, record_name(name, args.split, weights))
        if record is not None and not agrees(record, condition):
            raise UserError(
                f"record {record['name']} of {args.out / RUNS} was measured with another model, data or protocol; choose "
                "another --out or --name, or delete its line"
            )
        if record is None:
            with tempfile.TemporaryDirectory() as scratch:
                model = reduced(args.run, weights, Path(scratch))
                numbers = measure(
                    model, dataset, protocol=args.protocol, split=args.split, device=args.device
                )
            record = {
                "name": record_name(name, args.split, weights),
                "study": "precision",
                "row": name,
                "weights": weights,
                "dataset": args.dataset.resolve().name,
                "split": args.split,
                **condition,
                **numbers,
                **origin(),
            }
            append(args.out / RUNS, record)
        scores = " ".join(f"{lang} {each['mR']:.2f}" for lang, each in record["languages"].items())
        print(f"{record['name']}: {record['weight_bytes']:,} bytes, A {record['A']:.2f}, mR {scores}")


if __name__ == "__main__":
    main()
