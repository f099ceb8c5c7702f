"""Addresses, missing packages, places for workers: nothing here starts a cluster."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lingvis.cli import main
from lingvis.cli.cluster import connected
from lingvis.errors import UserError
from lingvis.ray import cluster as cluster_module
from lingvis.ray.cluster import Cluster, Placement
from lingvis.ray.hashes import HashSet


def test_without_the_flag_there_is_no_cluster() -> None:
    with connected(None) as cluster:
        assert cluster is None
    with pytest.raises(UserError, match="given twice"), connected(["a:1", "b:1"]):
        pass


def test_missing_ray_and_bad_addresses_end_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*flags: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["index", str(tmp_path / "new.lv"), str(tmp_path), "--model", "none", *flags])
        assert ended.value.code == 2
        return capsys.readouterr().err

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert f"no Ray cluster answers at 127.0.0.1:{port} (" in said(f"--ray=127.0.0.1:{port}")
    assert f"no Ray cluster answers at ray://127.0.0.1:{port} (" in said("--ray", f"ray://127.0.0.1:{port}")
    assert "'photos' is not the address of a Ray cluster" in said("--ray", "photos")
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert said("--ray") == "lingvis: a cluster needs Ray; run: pip install 'lingvis[ray]'\n"
    assert not (tmp_path / "new.lv").exists()


def test_something_else_at_the_address_does_not_hold_us_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "SECONDS_TO_CONNECT", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(UserError, match=f"at {address} .no answer within 3 s"), Cluster(address):
            pass


def test_one_worker_for_each_gpu_or_core(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        {"Alive": True, "Resources": {"CPU": 16.0, "GPU": 2.0}},
        {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 1.0}},
        {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}},
        {"Alive": True, "Resources": {"CPU": 2.0}},
    ]
    monkeypatch.setattr(cluster_module, "load_ray", lambda: SimpleNamespace(nodes=lambda: nodes))
    cluster = Cluster()
    assert cluster.placement(None) == cluster.placement("cuda") == Placement(workers=3, cpus=4, gpus=1)
    assert cluster.placement("cpu") == Placement(workers=22, cpus=1, gpus=0)
    assert (cluster.placement("cuda").device, cluster.placement("cpu").device) == ("cuda", "cpu")
    with pytest.raises(UserError, match="'cuda:1' is not allowed"):
        cluster.placement("cuda:1")
    del nodes[0], nodes[0]
    assert cluster.placement(None) == Placement(workers=2, cpus=1, gpus=0)
    with pytest.raises(UserError, match="no machine of the cluster has a GPU"):
        cluster.placement("cuda")


def test_known_hashes_are_found_again() -> None:
    known = [f"{number:02x}" * 32 for number in (7, 255, 0, 31)]
    hashes = HashSet(known)
    assert all(each in hashes for each in known)
    assert "08" * 32 not in hashes and "f0" * 32 not in hashes
    assert (
        "ff" * 8 + "00" * 24 in hashes
    )  # the first 8 bytes decide: a needless question, never a missed answer
    assert "00" * 32 not in HashSet([])
