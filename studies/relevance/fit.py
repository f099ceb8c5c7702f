"""The calibration of lingvis-base, from pictures that it was not trained on: free photographs, and a tenth of split val.

python -m studies calibrate-base DATASET --photos FOLDER

DATASET: flickr8k-ml; every tenth picture of split val, from the first one on, is not among the training pictures of
lingvis-base. --photos: the free photographs that results/photos-free/captions.jsonl describes. Known words are those of
split train. Split test takes no part: `python -m studies relevance` measures on it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row
from lingvis.pretrained import find_model
from lingvis.relevance.run import calibrate
from studies.arguments import add_device, make_parser

KEPT_OUT = 10  # one of this number of pictures of split val
CAPTIONS = Path("results/photos-free/captions.jsonl")


def calibration_rows(dataset: Dataset) -> list[Row]:
    """Captions of split train, for the known words, and the pictures that the model has not seen, as split val."""
    val = [row for row in dataset.rows if row.split == "val"]
    described = [json.loads(line) for line in CAPTIONS.read_text(encoding="utf-8").splitlines()]
    free = [
        Row(
            image=f"free-{each['image']}",
            split="val",
            captions={lang: (text,) for lang, text in each["captions"].items()},
        )
        for each in described
    ]
    return [*(row for row in dataset.rows if row.split == "train"), *val[::KEPT_OUT], *free]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, make a dataset of the unseen pictures, fit, write into the model folder."""
    parser = make_parser("calibrate-base", __doc__)
    parser.add_argument("dataset", type=Path, help="flickr8k-ml")
    parser.add_argument("--photos", type=Path, required=True, help="the folder of the free photographs")
    parser.add_argument("--run", type=Path, default=Path("lingvis-base"))
    add_device(parser)
    args = parser.parse_args(arguments)
    dataset = Dataset.open(args.dataset)
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / f"{dataset.path.resolve().name}-and-photos-free"
        (made / "images").mkdir(parents=True)
        if dataset.text_only_file is not None:
            shutil.copyfile(dataset.text_only_file, made / dataset.text_only_file.name)
        rows = calibration_rows(dataset)
        for row in rows:
            if row.split == "val":
                free = row.image.removeprefix("free-")
                file = args.photos / free if free != row.image else dataset.images_dir / row.image
                shutil.copyfile(file, made / "images" / row.image)
        written = calibrate(find_model(args.run), Dataset(made, rows), device=args.device)
    print(f"{written.path}: {written.calibration.model_dump(exclude={'source'})}")


if __name__ == "__main__":
    main()
