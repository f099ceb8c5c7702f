"""Training on a real cluster of two nodes: the same model as with processes of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.ray.cluster import Cluster
from lingvis.ray.training import train_on
from lingvis.training.loop.log import read_log
from lingvis.training.run import train

from ..training.small_runs import SMALL, WORDS, weights

OPTIONS = [*SMALL, *WORDS, "training.precision=float32"]


def test_a_cluster_trains_the_same_model(cluster: Cluster, toy_dataset: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    config = train_on(cluster, "vsepp", toy_dataset, run, overrides=OPTIONS, processes=2, device="cpu")
    alone = train("vsepp", toy_dataset, tmp_path / "alone", overrides=OPTIONS, device="cpu")
    assert config.training.validation_mR == alone.config.training.validation_mR
    losses, expected = (
        [row["loss"] for row in read_log(folder) if row["kind"] == "train"] for folder in (run, alone.path)
    )
    assert losses == pytest.approx(expected, rel=1e-5)
    found = weights(run)
    for name, value in weights(alone.path).items():
        assert (found[name] - value).abs().max() < 1e-4, name
    assert Embedder.load(run).dim == 24

    with pytest.raises(UserError, match=r"already holds a finished model"):
        train_on(cluster, "vsepp", toy_dataset, run, overrides=OPTIONS, processes=2, device="cpu")
    with pytest.raises(UserError, match=r"missing is not a folder on .*the same path on all machines"):
        train_on(cluster, "vsepp", tmp_path / "missing", tmp_path / "new", overrides=OPTIONS, device="cpu")
    with pytest.raises(UserError, match=r"processes is 9, but the cluster has 3 cores"):
        train_on(cluster, "vsepp", toy_dataset, tmp_path / "new", processes=9, device="cpu")
