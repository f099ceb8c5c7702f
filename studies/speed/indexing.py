"""Speed of indexing against its backbone alone, without Ray and with it, measured in turns in one run.

- backbone: the network alone, on pixels in memory, in the same batches, on all cores.
- decoded: the same while files are read and decoded; nothing is stored.
- index: from files to rows on the disk, with hashes, thumbnails, embeddings and their flushing.
- ray-N: the same with N workers of one core each in a Ray cluster on this machine, without the start of the workers.

    python -m studies indexing --images DIR [--count 1000] [--rounds 3] [--workers 1 2]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lingvis.collection.collection import Collection
from lingvis.collection.writer.indexer import BATCH, Indexer
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.description import Features
from lingvis.features.encode import PictureEncoder, PictureFile
from lingvis.hardware import kept_memory
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.weights import write_model_folder
from lingvis.ray.cluster import Cluster, load_ray
from lingvis.ray.indexing import ClusterWorkers
from lingvis.training.validate import load_recipe
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

BACKBONE = "efficientnet-lite0"


def make_model(run: Path) -> Path:
    """An untrained model of recipe demo; its image side is as fast as a trained one."""
    recipe = load_recipe("demo", [])
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(["a dog"], ["en"])
    backbone = load_backbone(BACKBONE, device="cpu")
    prepared = PictureEncoder(backbone).preprocessing
    features = Features(
        name="x", backbone=BACKBONE, kind="grid", regions=None, preprocessing=prepared, dim=backbone.dim
    )
    model = build_model(
        recipe, seed=recipe.training.seed, feature_dim=backbone.dim, vocabulary=tokenizer.vocabulary
    )
    run.mkdir()
    config = ModelConfig(languages=["en"], features=features, model=recipe.model, recipe=recipe.model_dump())
    write_model_folder(run, config=config, model=model, tokenizer=tokenizer, card="")
    return run


@torch.inference_mode()
def backbone_seconds(backbone: Backbone, count: int) -> float:
    """Seconds of the network on random pixels, with the memory of one batch kept for the next, as in indexing."""
    size = backbone.preprocessing.size
    pixels = torch.randn(BATCH, 3, size, size, device=backbone.device)
    pixels = pixels.contiguous(memory_format=torch.channels_last)
    with kept_memory():
        start = time.perf_counter()
        for done in range(0, count, BATCH):
            backbone.cells(pixels[: count - done]).sum().item()
        return time.perf_counter() - start


def decoded_seconds(backbone: Backbone, files: list[Path]) -> float:
    """Seconds of the network while files are read and decoded."""
    start = time.perf_counter()
    for _ in PictureEncoder(backbone).batches([PictureFile(file) for file in files], batch_size=BATCH):
        pass
    return time.perf_counter() - start


def index_seconds(indexer: Indexer, photos: Path, count: int) -> float:
    """Seconds of indexing a folder of new pictures."""
    start = time.perf_counter()
    report = indexer.run([photos])
    assert report.added == count, report
    return time.perf_counter() - start


def on_ray(
    work: Path, model: Path, photos: Path, count: int, workers: int, number: int
) -> tuple[float, float]:
    """Seconds until the workers are ready, and seconds of indexing with them."""
    with Cluster(cpus=workers) as cluster:
        collection = Collection(work / f"ray-{workers}-{number}.lv", model=model, device="cpu")
        indexer = collection.indexer(spread=partial(ClusterWorkers, cluster))
        start = time.perf_counter()
        indexer.run([work / "first"])  # some batches for each worker: all of them load their model
        return time.perf_counter() - start, index_seconds(indexer, photos, count)


def copy(files: list[Path], folder: Path) -> Path:
    """A folder with copies of the files; the indexer follows no links."""
    folder.mkdir()
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return folder


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All ways in turn, in several rounds."""
    files = sorted(options.images.glob("*.jpg"))
    warm = BATCH * 2 * max(options.workers)
    first, files = files[:warm], files[warm : warm + options.count]
    count = len(files)
    seconds: dict[str, list[float]] = {}
    starts: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        model = make_model(work / "model")
        photos = copy(files, work / "photos")
        copy(first, work / "first")
        embedder = Embedder.load(model)
        backbone, dim = embedder.backbone, embedder.dim
        assert isinstance(backbone, Backbone)
        backbone_seconds(backbone, BATCH)
        for number in range(options.rounds):
            indexer = Collection(work / f"index-{number}.lv", model=model).indexer()
            indexer.run([work / "first"])
            seconds.setdefault("backbone", []).append(backbone_seconds(backbone, count))
            seconds.setdefault("decoded", []).append(decoded_seconds(backbone, files))
            seconds.setdefault("index", []).append(index_seconds(indexer, photos, count))
            for workers in options.workers:
                started, took = on_ray(work, model, photos, count, workers, number)
                starts.append(started)
                seconds.setdefault(f"ray-{workers}", []).append(took)
        rows = [file for file in (work / "index-0.lv").rglob("*") if file.is_file()]
        stored = sum(file.stat().st_size for file in rows) / (count + len(first))
    ratios = {
        way: statistics.median(a / b for a, b in zip(seconds["backbone"], took, strict=True))
        for way, took in seconds.items()
    }
    return {
        "name": "indexing",
        "study": "indexing",
        **origin(),
        "ray": load_ray().__version__,
        "threads": torch.get_num_threads(),
        "backbone": BACKBONE,
        "dim": dim,
        "pictures": count,
        "picture_bytes": round(statistics.mean(file.stat().st_size for file in files)),
        "stored_bytes": round(stored),
        "batch_size": BATCH,
        "pictures_per_second": {
            way: [round(count / each, 1) for each in took] for way, took in seconds.items()
        },
        "of_backbone": {way: round(ratio, 3) for way, ratio in ratios.items()},
        "ray_start_seconds": round(statistics.median(starts), 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("indexing", __doc__)
    parser.add_argument("--images", type=Path, required=True, help="folder of .jpg files")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    add_out(parser, "results/scale")
    options = parser.parse_args(arguments)
    record = measure(options)
    append(options.out / RUNS, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
