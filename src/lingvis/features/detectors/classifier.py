"""The classifier of a backbone, applied to the whole picture and to parts of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.data.rows import Region
from lingvis.errors import UserError, choices
from lingvis.features.backbones import load_backbone
from lingvis.features.backbones.efficientnet_lite import SIZES, EfficientNetLite
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture
from lingvis.features.detectors.labels import labels_by_number, read_labels
from lingvis.features.encode import run
from lingvis.files import checksum

# Views: the whole picture, its middle and its corners, as shares of width and height.
PART = 0.6
STARTS = ((0.2, 0.2), (0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (0.4, 0.4))
FAINT = 0.01  # hundreds of useless classes have less
VIEWS = np.array([(0.0, 0.0, 1.0, 1.0), *((x, y, x + PART, y + PART) for x, y in STARTS)])


@DETECTORS.register(
    "classifier:BACKBONE", "the ImageNet classes of the picture and its parts, for global tags"
)
class Classifier:
    """One region per class: the view where the class is most probable, with the probability as score."""

    def __init__(self, backbone: str, *, labels: Path | None, images: Sequence[str]) -> None:
        if backbone not in SIZES:
            raise UserError(f"backbone {backbone!r} has no classifier; choose one of: {choices(SIZES)}")
        self.name = f"classifier:{backbone}"
        network = load_backbone(backbone)
        assert isinstance(network, EfficientNetLite)
        self.backbone = network
        self.labels = read_labels(labels) if labels else imagenet_names()
        classes = self.backbone.network._fc.out_features
        if max(self.labels) >= classes:
            raise UserError(
                f"{labels} names {1 + max(self.labels)} classes, but the classifier has {classes}; "
                "write one name per class"
            )
        self.made_of: tuple[str, ...] = (checksum(labels),) if labels else ()
        self.side = round(self.backbone.preprocessing.size / PART)

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The likely classes of each picture, one region per class."""
        pixels = np.concatenate([self._views(picture) for picture in pictures])
        flat = run(self._classes, torch.from_numpy(pixels), self.backbone.preprocessing, self.backbone.device)
        probabilities = flat.reshape(len(pictures), len(VIEWS), -1).cpu().numpy()
        return [self._regions(*pair) for pair in zip(pictures, probabilities, strict=True)]

    def _views(self, picture: DetectorPicture) -> NDArray[np.uint8]:
        image = Image.fromarray(picture.pixels)
        side, scale = self.backbone.preprocessing.size, np.array([*image.size, *image.size])
        boxes = [tuple((view * scale).tolist()) for view in VIEWS]
        return np.stack(
            [np.asarray(image.resize((side, side), Image.Resampling.BICUBIC, box=box)) for box in boxes]
        )

    def _regions(self, picture: DetectorPicture, probabilities: Floats) -> list[Region]:
        """probabilities: of each class in each view, [views, classes]."""
        size = np.array([picture.width, picture.height] * 2)
        best, scores = probabilities.argmax(axis=0), probabilities.max(axis=0)
        likely = [number for number in self.labels if scores[number] > FAINT]
        regions = [picture.region(VIEWS[best[n]] * size, self.labels[n], scores[n]) for n in likely]
        return [region for region in regions if region is not None]

    def _classes(self, pixels: Tensor) -> Tensor:
        logits: Tensor = self.backbone.network._fc(self.backbone.pooled(pixels))
        return torch.softmax(logits.float(), dim=1)


def imagenet_names() -> dict[int, str]:
    """The names of ImageNet's 1,000 classes from the lists in timm's package; timm itself is not imported."""
    timm = importlib.util.find_spec("timm")
    if timm is None or timm.origin is None:
        raise UserError(
            "the names of ImageNet's 1,000 classes are missing; name a file with one name per line in `labels`, "
            "or run: pip install 'lingvis[timm]'"
        )
    lists = Path(timm.origin).parent / "data" / "_info"
    lines = (lists / "imagenet_synset_to_lemma.txt").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines)
    return labels_by_number(
        [names[synset] for synset in (lists / "imagenet_synsets.txt").read_text().split()]
    )
