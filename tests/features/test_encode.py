"""How the kinds of features relate, and live encoding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lingvis.errors import UserError
from lingvis.features.backbones import Backbone
from lingvis.features.encode import FeatureSet, PictureEncoder, PictureFile, encode_pictures
from lingvis.features.pictures import BrokenPicture


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    """Half precision keeps 11 bits, one part in 2048, and means of 49 rounded cells add up little more."""
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.fixture
def files(tmp_path: Path, draw: Callable[..., Image.Image]) -> list[Path]:
    found = []
    for seed, size in enumerate([(80, 60), (60, 80), (300, 250)]):
        found.append(tmp_path / f"{seed}.jpg")
        draw(seed, *size).save(found[-1], quality=95)
    return found


def sets(files: list[Path], backbone: Backbone, kind: str, **options: object) -> list[np.ndarray]:
    return list(encode_pictures(files, backbone, kind, **options))  # type: ignore[arg-type]


def test_kinds_relate(files: list[Path], lite0: Backbone) -> None:
    grids, globals_ = sets(files, lite0, "grid"), sets(files, lite0, "global")
    crops = sets(files, lite0, "region", regions="crop")
    pooled = sets(files, lite0, "region", regions="pooled")
    assert {grid.shape for grid in grids} == {(49, 1280)}
    for grid, vector, crop, pool in zip(grids, globals_, crops, pooled, strict=True):
        mean = grid.astype(np.float32).mean(axis=0, keepdims=True)
        assert_near(vector, mean)
        assert_near(pool, mean)
        np.testing.assert_array_equal(crop, vector)
        assert grid.std() > 0.05
    assert np.abs(globals_[0] - globals_[1]).max() > 0.05


def test_cells_lie_row_by_row(tmp_path: Path, lite0: Backbone) -> None:
    """Change only the bottom left of a picture: the cells that change most are there."""
    plain = Image.new("RGB", (224, 224), (90, 90, 90))
    changed = plain.copy()
    changed.paste((250, 30, 30), (0, 160, 64, 224))
    plain.save(tmp_path / "a.png")
    changed.save(tmp_path / "b.png")
    before, after = sets([tmp_path / "a.png", tmp_path / "b.png"], lite0, "grid")
    difference = np.abs(after.astype(np.float32) - before).mean(axis=1).reshape(7, 7)
    assert difference[4:].sum() > 2 * difference[:3].sum()
    assert difference[:, :3].sum() > 2 * difference[:, 4:].sum()


def test_pooled_regions_average_the_cells_under_the_box(files: list[Path], lite0: Backbone) -> None:
    boxes = [[(0, 0, 80 / 7, 60 / 7), (0, 0, 80, 60 / 7)], [(0, 0, 60 / 7 * 1.5, 80 / 7)], []]
    pooled = sets(files, lite0, "region", regions="pooled", boxes=boxes)
    grids = [grid.astype(np.float32) for grid in sets(files, lite0, "grid")]
    assert_near(pooled[0][0], grids[0][0])
    assert_near(pooled[0][1], grids[0][:7].mean(axis=0))
    assert_near(pooled[1][0], (grids[1][0] + 0.5 * grids[1][1]) / 1.5)
    assert [len(found) for found in pooled] == [2, 1, 1]


def test_a_crop_is_the_global_vector_of_the_cut_out_picture(tmp_path: Path, lite0: Backbone) -> None:
    rng = np.random.default_rng(0)
    pixels = np.repeat(np.repeat(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), 56, 0), 56, 1)
    Image.fromarray(pixels).save(tmp_path / "all.png")
    Image.fromarray(pixels[224:, :224]).save(tmp_path / "cut.png")
    crop = sets([tmp_path / "all.png"], lite0, "region", regions="crop", boxes=[[(0, 224, 224, 448)]])
    cut = sets([tmp_path / "cut.png"], lite0, "global")
    # Only the filter's reach over the cut edge differs, and the scale here is one.
    assert_near(crop[0], cut[0])


def test_batches_do_not_change_the_vectors(files: list[Path], lite0: Backbone) -> None:
    boxes = [[(0, 0, 40, 30), (10, 10, 50, 50), (0, 0, 80, 60)], [], [(0, 0, 150, 250)]]
    for regions in ("crop", "pooled"):
        whole = sets(files, lite0, "region", regions=regions, boxes=boxes, batch_size=32)
        single = sets(files, lite0, "region", regions=regions, boxes=boxes, batch_size=1)
        assert [len(found) for found in whole] == [3, 1, 1]
        for one, other in zip(whole, single, strict=True):
            assert_near(one, other)


def test_one_broken_picture_does_not_shift_the_others(files: list[Path], tiny: Backbone) -> None:
    bad = files[0].parent / "bad.jpg"
    bad.touch()
    given = [PictureFile(file) for file in (files[0], bad, *files[1:])]
    found = [r for batch in PictureEncoder(tiny).batches(given, batch_size=3) for r in batch]
    assert isinstance(found[1], BrokenPicture)
    kept = [result.values for result in found if isinstance(result, FeatureSet)]
    np.testing.assert_array_equal(kept, sets(files, tiny, "grid"))
    with pytest.raises(UserError, match=r"bad\.jpg cannot be used: the file is empty"):
        sets([files[0], bad, files[1]], tiny, "grid")


def test_pooled_regions_see_the_whole_picture_even_where_the_backbone_crops(lite0: Backbone) -> None:
    assert PictureEncoder(lite0, kind="region", regions="pooled").preprocessing.fit == "squash"


def test_values_beyond_half_precision_are_limited(files: list[Path], lite0: Backbone) -> None:
    class Loud:
        name, dim, pooled_dim = "loud", 4, 4
        preprocessing, device = lite0.preprocessing, torch.device("cpu")

        def cells(self, pixels: torch.Tensor) -> torch.Tensor:
            return torch.full((len(pixels), 4, 2, 2), 1e6)

        def pooled(self, pixels: torch.Tensor) -> torch.Tensor:
            return torch.full((len(pixels), 4), -1e6)

    assert {float(value) for value in sets(files[:1], Loud(), "grid")[0].flat} == {65504.0}
    assert {float(value) for value in sets(files[:1], Loud(), "global")[0].flat} == {-65504.0}


def test_unknown_choices_are_listed(lite0: Backbone) -> None:
    with pytest.raises(UserError, match="global, grid, pixels, region"):
        PictureEncoder(lite0, kind="patch")
    with pytest.raises(UserError, match="crop, pooled"):
        PictureEncoder(lite0, kind="region", regions="roi")
