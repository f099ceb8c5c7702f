"""Faster R-CNN networks of torchvision, with weights from the user's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from lingvis.data.rows import Region
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file, require_library
from lingvis.features.detectors.labels import labels_by_number, read_labels
from lingvis.files import checksum

NETWORKS = (
    "fasterrcnn_resnet50_fpn_v2",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
)


@DETECTORS.register("torchvision:FILE", "Faster R-CNN of torchvision, weights as torchvision publishes them")
class TorchvisionDetector:
    """The Faster R-CNN whose weights are in the file."""

    side = 1333  # the longest side that these networks accept

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "weights")
        self.name, self.device = f"torchvision:{path.name}", choose_device(None)
        models = require_library("torchvision.models", self.name, install="torchvision")
        try:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, UnpicklingError, EOFError) as error:
            raise UserError(f"{path} holds no weights: {error}; name a .pth file of torchvision") from error
        name, network = _network(models.detection, weights, path)
        self.network: Any = network.eval().requires_grad_(False).to(self.device)
        categories = models.get_model_weights(name).DEFAULT.meta["categories"]
        self.labels = read_labels(labels) if labels else labels_by_number(categories)
        self.made_of = (checksum(path), *([checksum(labels)] if labels else []))

    @torch.inference_mode()
    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The regions of each picture."""
        inputs = [
            torch.tensor(picture.pixels, device=self.device).permute(2, 0, 1) / 255 for picture in pictures
        ]
        return [self._regions(*pair) for pair in zip(pictures, self.network(inputs), strict=True)]

    def _regions(self, picture: DetectorPicture, output: dict[str, torch.Tensor]) -> list[Region]:
        boxes, classes, scores = (output[key].cpu() for key in ("boxes", "labels", "scores"))
        rows = zip((boxes * picture.scale).tolist(), classes.tolist(), scores.tolist(), strict=True)
        regions = [
            picture.region(box, self.labels[number], score)
            for box, number, score in rows
            if number in self.labels
        ]
        return [region for region in regions if region is not None]


def _network(detection: Any, weights: Any, path: Path) -> tuple[str, Any]:
    """The name of the network that fits the weights, and the network with these weights."""
    predictor = weights.get("roi_heads.box_predictor.cls_score.weight") if isinstance(weights, dict) else None
    classes = 0 if predictor is None else len(predictor)
    for name in NETWORKS if classes else ():
        network = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=classes)
        if network.state_dict().keys() == weights.keys():
            try:
                network.load_state_dict(weights)
            except RuntimeError:  # the same names with other shapes
                continue
            return name, network
    raise UserError(
        f"the weights in {path} belong to no known network; name a file of one of: {', '.join(NETWORKS)}"
    )
