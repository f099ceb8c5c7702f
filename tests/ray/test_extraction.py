"""Feature extraction on a real cluster: the same files as without."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Region, Row
from lingvis.errors import UserError
from lingvis.features.extract import extract
from lingvis.features.store import FeatureStore
from lingvis.ray.cluster import Cluster
from lingvis.ray.extraction import ClusterEncoder

from ..collection.conftest import make_pictures


def make_dataset(folder: Path, count: int) -> Dataset:
    names = [path.name for path in make_pictures(folder / "images", count)]
    region = Region(label="x", box=(3.0, 4.0, 40.0, 30.0))
    rows = [Row(image=name, split="test", regions=(region,) * (i % 3)) for i, name in enumerate(names)]
    write_rows(folder / "captions.jsonl", rows)
    return Dataset.open(folder)


def assert_same(one: FeatureStore, other: FeatureStore) -> None:
    assert one.names == other.names
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.manifest.broken == other.manifest.broken
    np.testing.assert_allclose(one.values, other.values, atol=5e-3, rtol=5e-3)
    if torch.get_num_threads() == 1:  # as on the workers
        assert (one.path / "values.npy").read_bytes() == (other.path / "values.npy").read_bytes()
    if one.boxes is not None:
        np.testing.assert_array_equal(one.boxes, other.boxes)


def test_features_are_the_same_and_go_on_where_they_stopped(cluster: Cluster, tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path / "data", 16)
    spread = partial(ClusterEncoder, cluster, device="cpu")
    whole = (dataset.images_dir / "009.png").read_bytes()
    (dataset.images_dir / "009.png").write_bytes(whole[:70] + bytes(len(whole) - 70))
    with pytest.raises(UserError, match=r"009\.png cannot be used: .*set skip_broken"):
        extract(dataset, kind="region", batch_size=3, name="ray", device="cpu", spread=spread)
    progress = (dataset.features_dir / ".ray.partial" / "progress.jsonl").read_text().splitlines()
    assert len(progress) == 1 + 3  # the batches before the broken picture, and nothing after it
    made = extract(
        dataset, kind="region", batch_size=3, name="ray", device="cpu", skip_broken=True, spread=spread
    )
    assert [broken.image for broken in made.manifest.broken] == ["009.png"]
    assert_same(
        extract(dataset, kind="region", batch_size=3, name="here", device="cpu", skip_broken=True), made
    )
