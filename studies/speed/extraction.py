"""Speed of feature extraction against its backbone alone, measured in turns in one run, and what bounds it.

- bare: the network alone on random pixels in the device's memory, in the same batches and, on a GPU, in the same precision.
- kept: the same, on a CPU, with the memory of one batch kept for the next, as extraction does.
- decode: decoder processes alone, from JPEG files to pixels, with their start.
- both: files decoded and encoded, but not stored.
- disk: as many bytes as the store has, written and flushed at once.
- extract: everything, from files to a finished store with its checksums.

    python -m studies extraction [--images DIR --name NAME] [--count 256] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.encode import PictureEncoder, PictureFile
from lingvis.features.extract import BATCH, GPU_BATCH, extract
from lingvis.features.manifest import VALUES
from lingvis.hardware import kept_memory
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
    size, device = backbone.preprocessing.size, backbone.device
    pixels = torch.randn(batch_size, 3, size, size, device=device)
    pixels = pixels.contiguous(memory_format=torch.channels_last)
    start = time.perf_counter()
    with torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
        for done in range(0, count, batch_size):
            backbone.cells(pixels[: count - done]).sum().item()
    return count / (time.perf_counter() - start)


def decode_rate(dataset: Dataset, backbone: Backbone, batch_size: int) -> float:
    """Pictures per second from files to pixels."""
    start = time.perf_counter()
    with DecoderPool() as decoders:
        for _ in PictureEncoder(backbone).decoded(
            files_of(dataset), batch_size=batch_size, decoders=decoders
        ):
            pass
    return len(dataset.rows) / (time.perf_counter() - start)


def both_rate(dataset: Dataset, backbone: Backbone, batch_size: int) -> float:
    """Pictures per second from files to vectors."""
    start = time.perf_counter()
    with DecoderPool() as decoders:
        for _ in PictureEncoder(backbone).batches(
            files_of(dataset), batch_size=batch_size, decoders=decoders
        ):
            pass
    return len(dataset.rows) / (time.perf_counter() - start)


def files_of(dataset: Dataset) -> list[PictureFile]:
    """The pictures of a dataset."""
    return [PictureFile(dataset.images_dir / row.image) for row in dataset.rows]


def extraction_rate(dataset: Dataset, backbone: Backbone, batch_size: int, name: str) -> float:
    """Pictures per second from files to a finished store."""
    start = time.perf_counter()
    extract(dataset, backbone=backbone, batch_size=batch_size, name=name)
    return len(dataset.rows) / (time.perf_counter() - start)


def disk_rate(dataset: Dataset, name: str) -> float:
    """Pictures per second of writing the values of a store again, without making them; removes the store."""
    store = dataset.features_dir / name
    values = (store / VALUES).read_bytes()
    shutil.rmtree(store)
    start = time.perf_counter()
    with (dataset.features_dir / "plain").open("wb") as file:
        file.write(values)
        file.flush()
        os.fsync(file.fileno())
    return len(dataset.rows) / (time.perf_counter() - start)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All rates in turns; the ratio is the median of the rounds."""
    backbone = load_backbone(options.backbone, device=options.device)
    batch_size = options.batch_size or (GPU_BATCH if backbone.device.type == "cuda" else BATCH)
    rates: dict[str, list[float]] = {way: [] for way in ("bare", "kept", "decode", "both", "disk", "extract")}
    with tempfile.TemporaryDirectory() as folder:
        dataset = make_dataset(Path(folder), options.images, options.count, options.width, options.height)
        count = len(dataset.rows)
        for warm_up in (batch_size, count % batch_size or batch_size):
            bare_rate(backbone, warm_up, batch_size)
        for number in range(options.rounds):
            name = f"round-{number}"
            before = bare_rate(backbone, count, batch_size)
            rates["extract"].append(extraction_rate(dataset, backbone, batch_size, name))
            # The mean of the bare runs around an extraction cancels a drift of the machine's speed.
            rates["bare"].append((before + bare_rate(backbone, count, batch_size)) / 2)
            with kept_memory():
                bare_rate(backbone, batch_size, batch_size)
                rates["kept"].append(bare_rate(backbone, count, batch_size))
            rates["decode"].append(decode_rate(dataset, backbone, batch_size))
            rates["both"].append(both_rate(dataset, backbone, batch_size))
            rates["disk"].append(disk_rate(dataset, name))
    ratios, kept = (
        [mine / alone for mine, alone in zip(rates["extract"], rates[way], strict=True)]
        for way in ("bare", "kept")
    )
    return {
        "benchmark": "extraction",
        **origin(),
        "device": str(backbone.device),
        "threads": torch.get_num_threads(),
        "backbone": backbone.name,
        "pictures": count,
        "picture_size": "given files" if options.images else f"{options.width}x{options.height}",
        "batch_size": batch_size,
        **{f"{way}_per_second": [round(rate, 1) for rate in found] for way, found in rates.items()},
        "ratios": [round(ratio, 3) for ratio in ratios],
        "ratio": round(statistics.median(ratios), 3),
        "ratio_to_kept": round(statistics.median(kept), 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("extraction", __doc__)
    parser.add_argument("--images", type=Path, help="folder of .jpg files instead of made ones")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--width", type=int, default=500)
    parser.add_argument("--height", type=int, default=375)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, help=f"{BATCH} by default, {GPU_BATCH} on a GPU")
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
