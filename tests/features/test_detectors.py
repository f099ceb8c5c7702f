"""Detectors that look at pixels, and the numbers of boxes."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lingvis.errors import UserError
from lingvis.features.detectors import DETECTORS, load_detector
from lingvis.features.detectors.boxes import best_boxes, from_centres, overlaps
from lingvis.features.detectors.classifier import imagenet_names
from lingvis.features.detectors.labels import read_labels
from lingvis.features.detectors.onnx_yolo import read_output
from lingvis.features.detectors.pixels import scaled_picture
from tests.features.detector_files import COLOURS, coloured, write_yolo

box = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 8)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


def naive_overlap(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    cells = [{(x, y) for x in range(b[0], b[2]) for y in range(b[1], b[3])} for b in (one, other)]
    return len(cells[0] & cells[1]) / len(cells[0] | cells[1])


@given(box, st.lists(box, min_size=1, max_size=5))
def test_overlaps_are_counted_cells(one: tuple[int, ...], others: list[tuple[int, ...]]) -> None:
    found = overlaps(np.array(one, np.float32), np.array(others, np.float32))
    np.testing.assert_allclose(found, [naive_overlap(one, other) for other in others], rtol=1e-5)


@given(st.lists(st.tuples(box, st.integers(0, 1)), min_size=1, max_size=8), st.randoms())
def test_suppression_is_the_naive_loop(things: list[tuple[tuple[int, ...], int]], random: Any) -> None:
    scores = random.sample(range(100), len(things))
    kept: list[int] = []
    for number in sorted(range(len(things)), key=lambda n: -scores[n]):
        better = [n for n in kept if things[n][1] == things[number][1]]
        if all(naive_overlap(things[n][0], things[number][0]) <= 0.5 for n in better):
            kept.append(number)
    boxes = np.array([thing[0] for thing in things], np.float32)
    classes = np.array([thing[1] for thing in things])
    found = best_boxes(boxes, np.array(scores, np.float32), classes, overlap=0.5)
    assert found.tolist() == kept


def test_centres_become_corners() -> None:
    assert from_centres(np.array([[10, 20, 4, 6]], np.float32)).tolist() == [[8, 17, 12, 23]]


def test_final_boxes_are_taken_as_they_are() -> None:
    rows = np.array([[1, 2, 3, 4, 0.9, 7], [1, 2, 3, 4, 0.8, 7]], np.float32)
    boxes, scores, classes = read_output(rows, 80)
    assert (boxes.tolist(), classes.tolist()) == ([[1, 2, 3, 4]] * 2, [7, 7])
    assert scores == pytest.approx([0.9, 0.8])
    with pytest.raises(UserError, match=r"\[2, 9\] values per picture, which matches no YOLO of 1 classes"):
        read_output(np.zeros((2, 9), np.float32), 1)
    one_class = np.array([[10, 10, 4, 4, 0.5, 0.8]], np.float32)  # version 5 with a single class
    assert read_output(one_class, 1)[1] == pytest.approx([0.4])


@pytest.mark.parametrize(("version", "batch"), list(itertools.product((5, 8), (1, 2, "batch"))))
def test_a_yolo_file_sees_colours_where_they_are(tmp_path: Path, version: int, batch: int | str) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'lingvis[detectors]'")
    detector = load_detector(f"onnx:{write_yolo(tmp_path / 'yolo.onnx', version=version, batch=batch)}")
    # The network's boxes are 16 pixels wide in a picture of 64; twice and four times that in these.
    wide = coloured((128, 64), {"red": (32, 16, 64, 48), "blue": (96, 0, 128, 32)})
    tall = coloured((128, 256), {"green": (0, 192, 64, 256)})
    turned = coloured((64, 128), {"red": (0, 64, 32, 96)}).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side
    wide.save(tmp_path / "wide.png")
    tall.save(tmp_path / "tall.png")
    turned.save(tmp_path / "turned.png", exif=exif)
    names = ("wide.png", "tall.png", "turned.png")
    seen: Any = detector.detect([scaled_picture(tmp_path / name, name, detector.side) for name in names])
    # The grey beside a picture counts a little for every colour.
    best = [{r.label: r for r in sorted(found, key=lambda r: r.score) if r.score > 0.4} for found in seen]
    assert [set(found) for found in best] == [{"red", "blue"}, {"green"}, {"red"}]
    assert best[0]["red"].box == (32, 16, 64, 48)
    assert best[0]["blue"].box == (96, 0, 128, 32)
    assert best[1]["green"].box == (0, 192, 64, 256)
    assert best[2]["red"].box == (0, 64, 32, 96)
    assert best[0]["red"].score == pytest.approx(1.0 if version == 8 else 0.5, abs=0.05)
    # A quarter of a box to one side the overlap is 0.6, to both sides 0.39: the first are gone, the others stay.
    reds = [region.box for region in seen[0] if region.label == "red" and region != best[0]["red"]]
    shared = overlaps(np.array(best[0]["red"].box, np.float32), np.array(reds, np.float32))
    assert shared.max() == pytest.approx(144 / 368)


def test_onnx_files_that_do_not_fit(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'lingvis[detectors]'")
    file = write_yolo(tmp_path / "yolo.onnx", version=8, names=False)
    with pytest.raises(UserError, match=r"contains no class names; name a file"):
        load_detector(f"onnx:{file}")
    names = tmp_path / "names.txt"
    names.write_text("one\ntwo\n")
    detector = load_detector(f"onnx:{file}", labels=names)
    coloured((64, 64), {}).save(tmp_path / "a.png")
    with pytest.raises(UserError, match="matches no YOLO of 2 classes"):
        detector.detect([scaled_picture(tmp_path / "a.png", "a.png", detector.side)])
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(UserError, match=r"bad\.onnx cannot be loaded"):
        load_detector(f"onnx:{tmp_path / 'bad.onnx'}", labels=names)


def test_a_tflite_file_brings_its_labels_and_boxes_stay_inside(tmp_path: Path) -> None:
    file = os.environ.get("LINGVIS_TFLITE")
    if not file:
        pytest.skip("LINGVIS_TFLITE names no EfficientDet-Lite file")
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'lingvis[detectors]'")
    detector = load_detector(f"tflite:{file}")
    assert (detector.labels[0], detector.labels[17]) == ("person", "dog")  # type: ignore[attr-defined]
    assert 11 not in detector.labels  # type: ignore[attr-defined]
    coloured((640, 320), {"red": (0, 0, 99, 99)}).save(tmp_path / "a.png")
    (regions,) = detector.detect([scaled_picture(tmp_path / "a.png", "a.png", detector.side)])
    assert not isinstance(regions, Exception)
    for region in regions:
        assert 0 <= region.box[0] < region.box[2] <= 640 and 0 <= region.box[1] < region.box[3] <= 320


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yolo", "unknown detector 'yolo'; choose one of: .*onnx:FILE.*tflite:FILE"),
        ("onnx", "detector 'onnx' is incomplete; write it as onnx:FILE"),
        ("onnx:nowhere.onnx", r"no ONNX model at nowhere\.onnx; .* nothing is downloaded"),
        ("tflite:nowhere.tflite", r"no TensorFlow Lite model at nowhere\.tflite"),
        ("torchvision", "write it as torchvision:FILE"),
        ("classifier:resnet", "backbone 'resnet' has no classifier; choose one of: efficientnet-lite0"),
    ],
)
def test_bad_names_of_detectors(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_detector(name)


@pytest.mark.parametrize(
    ("prefix", "module", "advice"),
    [
        ("onnx", "onnxruntime", r"'lingvis\[detectors\]'"),
        ("tflite", "ai_edge_litert", r"'lingvis\[detectors\]'"),
        ("torchvision", "torchvision", "torchvision"),
    ],
)
def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, module: str, advice: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "weights").write_bytes(b"x")
    with pytest.raises(UserError, match=f"needs {module}.*; run: pip install {advice}"):
        load_detector(f"{prefix}:{tmp_path / 'weights'}")


def test_nothing_optional_is_imported_by_default() -> None:
    assert len(DETECTORS.names()) == 7
    modules = ("onnxruntime", "torchvision", "ai_edge_litert")
    code = f"import sys, lingvis.features.detect; print([m for m in {modules} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_labels_from_text_and_json(tmp_path: Path) -> None:
    text, listed, coco = tmp_path / "a.txt", tmp_path / "a.json", tmp_path / "b.json"
    text.write_text("person\n???\ncouch,sofa\n\nbackground\ndog\n")
    listed.write_text('["person", "dog"]')
    coco.write_text('{"categories": [{"id": 3, "name": "dog"}]}')
    assert read_labels(text) == {0: "person", 2: "couch", 5: "dog"}
    assert read_labels(listed) == {0: "person", 1: "dog"}
    assert read_labels(coco) == {3: "dog"}
    coco.write_text('{"classes": []}')
    with pytest.raises(UserError, match="have no COCO categories"):
        read_labels(coco)
    text.write_text("\n")
    with pytest.raises(UserError, match="hold no names"):
        read_labels(text)


def test_the_classifier_names_a_part_of_the_picture(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"class {n}" for n in range(1000)))
    detector = load_detector("classifier:efficientnet-lite0", labels=names)
    noise = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((200, 100)).save(tmp_path / "a.png")
    (regions,) = detector.detect([scaled_picture(tmp_path / "a.png", "a.png", detector.side)])
    assert not isinstance(regions, Exception)
    assert regions
    scores = [region.score or 0.0 for region in regions]
    assert min(scores) >= 0.01 and max(scores) <= 1.0
    views = {
        (0, 0, 200, 100),
        (40, 20, 160, 80),
        (0, 0, 120, 60),
        (80, 0, 200, 60),
        (0, 40, 120, 100),
        (80, 40, 200, 100),
    }
    assert {region.box for region in regions} <= views
    names.write_text("\n".join(f"class {n}" for n in range(1001)))
    with pytest.raises(UserError, match="names 1001 classes, but the classifier has 1000"):
        load_detector("classifier:efficientnet-lite0", labels=names)


def test_imagenet_names_need_timm_or_a_file() -> None:
    if importlib.util.find_spec("timm") is None:
        with pytest.raises(
            UserError, match=r"name a file with one name per line in `labels`.*lingvis\[timm\]"
        ):
            imagenet_names()
    else:
        names = imagenet_names()
        assert (len(names), names[0], names[999]) == (1000, "tench", "toilet tissue")


def test_torchvision_weights_find_their_network(tmp_path: Path) -> None:
    models = pytest.importorskip("torchvision.models", reason="torchvision is not here", exc_type=ImportError)
    import torch

    torch.manual_seed(0)
    network = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None)
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    detector = load_detector(f"torchvision:{tmp_path / 'weights.pth'}")
    assert detector.labels[1] == "person"  # type: ignore[attr-defined]
    coloured((300, 200), dict.fromkeys(COLOURS, (0, 0, 99, 99))).save(tmp_path / "a.png")
    (regions,) = detector.detect([scaled_picture(tmp_path / "a.png", "a.png", detector.side)])
    assert isinstance(regions, list)
    torch.save({"other": torch.zeros(2)}, tmp_path / "weights.pth")
    with pytest.raises(UserError, match="belong to no known network"):
        load_detector(f"torchvision:{tmp_path / 'weights.pth'}")
