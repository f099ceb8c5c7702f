"""Arithmetic of boxes: conversions, overlaps, non-maximum suppression."""

from __future__ import annotations

import numpy as np

from lingvis.arrays import Floats, Ints

OVERLAP = 0.45  # the default of YOLO's tools


def from_centres(boxes: Floats) -> Floats:
    """Centre x, centre y, width, height -> x0, y0, x1, y1, both [boxes, 4]."""
    half = boxes[:, 2:] / 2
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def overlaps(box: Floats, others: Floats) -> Floats:
    """Intersection over union of one box with each of the others, [others]."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.maximum(sides, 0.0).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    joint = (box[2:] - box[:2]).prod() + areas - shared
    return np.asarray(shared / np.maximum(joint, 1e-9), dtype=np.float32)


def best_boxes(boxes: Floats, scores: Floats, classes: Ints, *, overlap: float = OVERLAP) -> Ints:
    """Non-maximum suppression: the numbers of the boxes kept, best first.

    A box is dropped if a better one of the same class overlaps it by more than `overlap`.
    """
    left = np.argsort(-scores, kind="stable")
    kept = []
    while left.size:
        best, rest = left[0], left[1:]
        kept.append(int(best))
        same = classes[rest] == classes[best]
        left = rest[~(same & (overlaps(boxes[best], boxes[rest]) > overlap))]
    return np.array(kept, dtype=np.int64)
