"""Detectors: pictures -> regions with labels, by networks or from files of earlier detections."""

from __future__ import annotations

from lingvis.features.detectors import (
    bottom_up,
    classifier,
    coco,
    onnx_yolo,
    stored_regions,
    tflite,
    torchvision_models,
)
from lingvis.features.detectors.contract import DETECTORS, Detector, DetectorPicture, load_detector

__all__ = [
    "DETECTORS",
    "Detector",
    "DetectorPicture",
    "bottom_up",
    "classifier",
    "coco",
    "load_detector",
    "onnx_yolo",
    "stored_regions",
    "tflite",
    "torchvision_models",
]
