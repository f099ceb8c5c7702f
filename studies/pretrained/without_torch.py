"""A model by onnxruntime beside torch: scores and ranks of a split, times on one core, and a search from the start.

python -m studies without-torch src/lingvis/pretrained/lingvis-base DATASET --photos FOLDER --python VENV/bin/python

MODEL: a model folder with graphs and weights. --photos: a folder of pictures to index and search. --python: the
interpreter of a fresh environment with `pip install 'lingvis[photos]'` and without torch; the installation is measured
and searches from there. The record replaces an earlier one of the same model and split.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.collection.collection import Collection
from lingvis.data.dataset import Dataset
from lingvis.evaluation.metrics import scores
from lingvis.evaluation.pools import EvaluationPool, pools
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import InnerProduct
from lingvis.features.decoding.content import DecodeRequest, ViewRequest, decode_content, decode_file
from lingvis.features.pictures import DecodedPicture
from lingvis.model.embedder import Embedder
from lingvis.model.encoder import Encoder
from lingvis.model.folder import ModelConfig
from lingvis.model.onnx.embedder import OnnxEmbedder
from studies.arguments import add_out, make_parser
from studies.pretrained.cold import cold_search
from studies.pretrained.precision import median_ms, one_core
from studies.records import RUNS, Record, append, check_writable, origin

FOLDER = "onnx"  # below results/
SENTENCES, PICTURES = 300, 60  # at most, encoded one at a time
COLD, WARM = 7, 200  # searches


def compare_scores(
    torch: Encoder, onnx: Encoder, dataset: Dataset, measured: Sequence[EvaluationPool]
) -> dict[str, Any]:
    """By language: the largest difference of a score, mR of both, and the share of equal ranks."""
    names = list(dict.fromkeys(name for pool in measured for name in pool.images))
    files = [dataset.images_dir / name for name in names]
    images = [dict(zip(names, model.encode_images(files), strict=True)) for model in (torch, onnx)]
    compared = {}
    for pool in measured:
        scorers = [
            InnerProduct(
                np.stack([by_name[name] for name in pool.images]), model.encode_texts(pool.texts, pool.lang)
            )
            for by_name, model in zip(images, (torch, onnx), strict=True)
        ]
        first, second = (scorer.image_emb @ scorer.text_emb.T for scorer in scorers)
        by_torch, by_onnx = (ranks(scorer, pool.image_of) for scorer in scorers)
        equal = np.concatenate([by_torch.t2i == by_onnx.t2i, by_torch.i2t == by_onnx.i2t])
        compared[pool.lang] = {
            "largest_difference": float(np.abs(first - second).max()),
            "mR_torch": scores(by_torch).mR,
            "mR_onnx": scores(by_onnx).mR,
            "equal_ranks": float(equal.mean()),
        }
    return compared


def encoding_times(model: Encoder, sentences: Sequence[tuple[str, str]], files: Sequence[Path]) -> Record:
    """Median milliseconds per sentence and per decoded picture."""
    request = DecodeRequest(views=ViewRequest(model.preprocessing))
    pictures: list[DecodedPicture] = []
    for file in files:
        views = decode_file(file, request, decode_content).views
        assert views is not None  # requested
        pictures.append(views)
    return {
        "ms_per_sentence": median_ms(lambda pair: model.encode_texts([pair[0]], pair[1]), sentences),
        "ms_per_picture": median_ms(lambda picture: model.encode_decoded([picture]), pictures),
    }


def warm_ms(collection: Path, model: Path, sentences: Sequence[tuple[str, str]]) -> float:
    """Median milliseconds of a search for a new sentence in a process that has searched before."""
    opened = Collection.open(collection, model=model, device="cpu")
    return median_ms(lambda pair: opened.search(pair[0], lang=pair[1]), sentences[:WARM])


def for_torch(model: Path, scratch: Path) -> Path:
    """A copy of a model folder without its graphs."""
    copy = scratch / "torch" / model.resolve().name
    shutil.copytree(model, copy, ignore=shutil.ignore_patterns("*.onnx"))
    ModelConfig.read(copy).model_copy(update={"text_fingerprint": ""}).write(copy)
    return copy


def measure_search(model: Path, photos: Path, python: Path, sentences: Sequence[tuple[str, str]]) -> Record:
    """Searches of a collection, cold and warm, by both."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        with_torch, collection = for_torch(model, scratch), scratch / "photos.lv"
        pictures = Collection(collection, model=model).add([photos]).pictures
        return {
            "pictures": pictures,
            "cold": {
                "onnx": asdict(cold_search(python, collection, model, times=COLD)),
                "torch": asdict(cold_search(Path(sys.executable), collection, with_torch, times=COLD)),
            },
            "warm_ms": {
                "onnx": warm_ms(collection, model, sentences),
                "torch": warm_ms(collection, with_torch, sentences),
            },
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record, print it."""
    parser = make_parser("without-torch", __doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--photos", type=Path, required=True, help="folder of pictures to index and search")
    parser.add_argument("--python", type=Path, required=True, help="interpreter without torch")
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--split", default="test")
    parser.add_argument("--caveat", action="append", default=[], help="such as: times: other processes ran")
    add_out(parser, f"results/{FOLDER}")
    args = parser.parse_args(arguments)
    check_writable(args.out)
    dataset, config = Dataset.open(args.dataset), ModelConfig.read(args.model)
    torch, onnx = Embedder.load(args.model, device="cpu"), OnnxEmbedder.load(args.model, threads=1)
    measured = pools(dataset, find_protocol(args.protocol), args.split)
    every = [(text, pool.lang) for pool in measured for text in pool.texts]
    sentences = every[:: max(1, len(every) // SENTENCES)][:SENTENCES]
    files = [dataset.images_dir / name for name in measured[0].images[:PICTURES]]
    search = measure_search(args.model, args.photos, args.python, sentences)
    with one_core():
        encoding = {
            name: encoding_times(model, sentences, files)
            for name, model in (("torch", torch), ("onnx", onnx))
        }
    languages = compare_scores(torch, onnx, dataset, measured)
    record: Record = {
        "name": f"{config.name}/{args.split}",
        "study": "without-torch",
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "protocol": args.protocol,
        "image_fingerprint": config.image_fingerprint,
        "languages": languages,
        "encoding": encoding,
        "search": search,
        "caveats": args.caveat,
        **origin(),
    }
    append(args.out / RUNS, record)
    print(
        f"{record['name']}: scores differ by at most "
        f"{max(each['largest_difference'] for each in languages.values()):.1e}, equal ranks "
        f"{min(each['equal_ranks'] for each in languages.values()):.4f}; cold search {search['cold']}; warm "
        f"{search['warm_ms']} ms; {encoding}"
    )


if __name__ == "__main__":
    main()
