"""Speed of feature extraction against its backbone alone, measured in turns in one run.

The backbone alone gets random pixels in memory, in the same batches and with the same threads; extraction reads,
decodes, encodes, stores and checksums JPEG files.

    python -m studies extraction [--images DIR --name NAME] [--count 256] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Row
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.extract import extract
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, append, origin


def make_pictures(folder: Path, count: int, width: int, height: int) -> None:
    """Smooth random pictures with some noise: JPEG files about as large as photographs of that size."""
    rng = np.random.default_rng(0)
    for number in range(count):
        coarse = rng.integers(0, 256, (height // 24, width // 24, 3), dtype=np.uint8)
        smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        noise = rng.normal(0, 8, (height, width, 1))
        pixels = np.clip(np.asarray(smooth) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:05}.jpg", quality=90)


def make_dataset(folder: Path, images: Path | None, count: int, width: int, height: int) -> Dataset:
    """A dataset folder of `count` pictures, linked from `images` or made."""
    (folder / "images").mkdir()
    if images is None:
        make_pictures(folder / "images", count, width, height)
    else:
        for file in sorted(images.glob("*.jpg"))[:count]:
            (folder / "images" / file.name).symlink_to(file.resolve())
    names = sorted(file.name for file in (folder / "images").iterdir())
    write_rows(folder / "captions.jsonl", [Row(image=name, split="test") for name in names])
    return Dataset.open(folder)


@torch.inference_mode()
def bare_rate(backbone: Backbone, count: int, batch_size: int) -> float:
    """Pictures per second of the backbone on pixels in memory."""
    size = backbone.preprocessing.size
    pixels = torch.randn(batch_size, 3, size, size, device=backbone.device)
    pixels = pixels.contiguous(memory_format=torch.channels_last)
    start = time.perf_counter()
    for done in range(0, count, batch_size):
        backbone.cells(pixels[: count - done]).sum().item()
    return count / (time.perf_counter() - start)


def extraction_rate(dataset: Dataset, backbone: Backbone, batch_size: int, name: str) -> float:
    """Pictures per second from files to a finished store."""
    start = time.perf_counter()
    extract(dataset, backbone=backbone, batch_size=batch_size, name=name)
    return len(dataset.rows) / (time.perf_counter() - start)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Both rates in turns; the ratio is the median of the rounds."""
    backbone = load_backbone(options.backbone, device=options.device)
    with tempfile.TemporaryDirectory() as folder:
        dataset = make_dataset(Path(folder), options.images, options.count, options.width, options.height)
        count = len(dataset.rows)
        bare_rate(backbone, options.batch_size, options.batch_size)
        bare, whole = [], []
        for number in range(options.rounds):
            before = bare_rate(backbone, count, options.batch_size)
            whole.append(extraction_rate(dataset, backbone, options.batch_size, f"round-{number}"))
            # The mean of the bare runs around an extraction cancels a drift of the machine's speed.
            bare.append((before + bare_rate(backbone, count, options.batch_size)) / 2)
    ratios = [mine / alone for mine, alone in zip(whole, bare, strict=True)]
    return {
        "benchmark": "extraction",
        **origin(),
        "device": str(backbone.device),
        "threads": torch.get_num_threads(),
        "backbone": backbone.name,
        "pictures": count,
        "picture_size": "given files" if options.images else f"{options.width}x{options.height}",
        "batch_size": options.batch_size,
        "bare_per_second": [round(rate, 1) for rate in bare],
        "extract_per_second": [round(rate, 1) for rate in whole],
        "ratios": [round(ratio, 3) for ratio in ratios],
        "ratio": round(statistics.median(ratios), 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("extraction", __doc__)
    parser.add_argument("--images", type=Path, help="folder of .jpg files instead of made ones")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--width", type=int, default=500)
    parser.add_argument("--height", type=int, default=375)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--backbone", default="efficientnet-lite0")
    add_device(parser)
    add_out(parser, "results/extraction")
    parser.add_argument("--name", default="made", help="name of the record")
    options = parser.parse_args(arguments)
    record = {"name": options.name, "study": "extraction", **measure(options)}
    append(options.out / RUNS, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
