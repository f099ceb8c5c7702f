"""Moments of made-up videos: recall of the right shot among all shots, and speed of indexing beside the backbone's.

The videos show moving scenes of the demo's test split. The model is the demo's, trained on the pictures of the other
scenes; it has seen neither these sets of objects nor a video. A query is the sentence about a shot, which names its objects.

- backbone: the network alone, on pixels in memory, in the same batches, on all cores.
- decoding: frames of the videos that are read and compared, one video after another; nothing is encoded.
- index: from files to rows on the disk.

    python -m studies video [--videos 100] [--scenes 3000] [--rounds 3] [--work runs/video]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.collection.writer.indexer import BATCH
from lingvis.data.scenes import make_scenes
from lingvis.data.scenes.videos import RATE, SUFFIX, VideoShot, make_videos
from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import BY_SCENE, sample
from lingvis.features.backbones import Backbone
from lingvis.features.extract import extract
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT, is_model_folder
from lingvis.training.run import train
from lingvis.training.validate import load_recipe
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, append, origin
from studies.speed.indexing import backbone_seconds

RECIPE = "demo"
LANGUAGES = ("en", "de", "ar", "zh")
RANKS = (1, 5, 10)


def make_model(work: Path, *, scenes: int, device: str | None) -> Path:
    """The demo's model."""
    recipe, run = load_recipe(RECIPE), work / "model"
    if not is_model_folder(run):
        dataset = make_scenes(work / "scenes", scenes=scenes)
        extract(dataset, kind=recipe.data.features.rsplit("-", 1)[1], device=device)
        train(RECIPE, dataset.path, run, resume=(run / CHECKPOINT).exists(), device=device)
    return run


def recall(collection: Collection, shots: Sequence[VideoShot]) -> dict[str, dict[str, float]]:
    """R@k of the right shot per language: a hit is right if its second is inside the shot."""
    found = {}
    for language in LANGUAGES:
        ranks = [_rank(collection, shot, language) for shot in shots]
        found[language] = {
            f"R@{k}": round(100 * sum(rank is not None and rank <= k for rank in ranks) / len(ranks), 1)
            for k in RANKS
        }
    return found


def _rank(collection: Collection, shot: VideoShot, language: str) -> int | None:
    hits = collection.search(shot.sentences[language], lang=language, k=max(RANKS))
    right = (
        hit.rank
        for hit in hits
        if Path(hit.path).name == shot.video and shot.start <= (hit.info.second or 0.0) < shot.end
    )
    return next(right, None)


def decoding_seconds(files: Sequence[Path]) -> tuple[float, int]:
    """Seconds to choose the moments of all videos in this process, and their number."""
    start, moments = time.perf_counter(), 0
    for path in files:
        with path.open("rb") as file, open_video(file) as video:
            moments += sum(1 for _ in sample(video, BY_SCENE))
    return time.perf_counter() - start, moments


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Recall once, speeds in turns in several rounds."""
    work: Path = options.work
    run = make_model(work, scenes=options.scenes, device=options.device)
    shots = make_videos(work / "videos", languages=LANGUAGES, videos=options.videos, scenes=options.scenes)
    files = sorted((work / "videos").glob(f"*{SUFFIX}"))
    frames = round(sum(shot.end - shot.start for shot in shots) * RATE)
    embedder = Embedder.load(run, device=options.device)
    backbone = embedder.backbone
    assert isinstance(backbone, Backbone)
    backbone_seconds(backbone, BATCH)
    rates: dict[str, list[float]] = {"backbone": [], "decoding": [], "index": [], "moments": []}
    for number in range(options.rounds):
        place = work / f"index-{number}.lv"
        collection = Collection(place, model=run, device=options.device)
        start = time.perf_counter()
        report = collection.add([work / "videos"], rebuild=place.exists())
        took = time.perf_counter() - start
        rates["index"].append(round(frames / took, 1))
        rates["moments"].append(round(report.moments / took, 1))
        rates["backbone"].append(round(4 * BATCH / backbone_seconds(backbone, 4 * BATCH), 1))
        rates["decoding"].append(round(frames / decoding_seconds(files)[0], 1))
    return {
        "name": "video",
        "study": "video",
        **origin(),
        "recipe": RECIPE,
        "scenes": options.scenes,
        "videos": len(files),
        "shots": len(shots),
        "moments": report.moments,
        "frames": frames,
        "seconds": round(sum(shot.end - shot.start for shot in shots)),
        "recall": recall(Collection.open(place, device=options.device), shots),
        "backbone": backbone.name,
        "frames_per_second": {way: round(statistics.median(each), 1) for way, each in rates.items()},
        "rounds": rates,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("video", __doc__)
    parser.add_argument("--videos", type=int, default=100)
    parser.add_argument(
        "--scenes", type=int, default=3000, help="of the demo; a tenth of them can be in videos"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("runs/video"),
        help="folder of model and videos, runs/video by default",
    )
    add_device(parser)
    add_out(parser, "results/video")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    record = measure(options)
    append(options.out / RUNS, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
