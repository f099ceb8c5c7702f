"""Addresses, tokens, missing and old packages, places for workers."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lingvis.cli import main
from lingvis.cli.cluster import connected
from lingvis.errors import UserError
from lingvis.ray import cluster as cluster_module
from lingvis.ray.cluster import Cluster, Placement, check_version
from lingvis.ray.hashes import HashSet
from lingvis.ray.token import LOCAL

# Starts a cluster of our own and prints the listening sockets of all its processes, its address and the variables.
LOCAL_CLUSTER = """
import json, os, sys
from lingvis.ray.cluster import Cluster, load_ray
before = dict(os.environ)
with Cluster(cpus=1):
    ray = load_ray()
    pid = ray.get(ray.remote(lambda: os.getpid()).remote())
    import psutil
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    assert pid in [process.pid for process in processes]
    hosts = {name.laddr.ip for process in processes for name in process.net_connections("inet") if name.status == "LISTEN"}
    token = os.environ["RAY_AUTH_TOKEN"]
    print(json.dumps([sorted(hosts), ray.get_runtime_context().gcs_address, token]), flush=True)
    sys.stdin.readline()
changed = {key for key in before.keys() | os.environ.keys() if before.get(key) != os.environ.get(key)}
assert not {key for key in changed if "AUTH" in key or "CLUSTER" in key}, changed
"""


def test_a_cluster_of_our_own_listens_on_loopback_and_wants_its_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # which counts only for clusters of other people
    started = subprocess.Popen(
        [sys.executable, "-c", LOCAL_CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None and started.stdin is not None
    with started:
        hosts, address, token = json.loads(started.stdout.readline())
        assert hosts and set(hosts) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        assert len(token) == 64
        join = [sys.executable, "-c", cluster_module.REHEARSAL, address]
        environment = dict(os.environ) | LOCAL | cluster_module.FEW_TRIES
        assert subprocess.run(join, env=environment, capture_output=True, timeout=120).returncode == 1
        environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
        assert subprocess.run(join, env=environment, capture_output=True, timeout=120).returncode == 0
        started.stdin.write("\n")
        started.stdin.close()
        assert started.wait(60) == 0


def test_a_cluster_without_a_token_is_joined_only_on_demand(
    ray_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LOCAL.items():
        monkeypatch.setenv(name, value)
    environment = dict(os.environ) | {"RAY_AUTH_MODE": "disabled"}
    code = (
        "import sys, ray; c = ray.init(address='local', num_cpus=1, include_dashboard=False, log_to_driver=False); "
        "print(c.address_info['gcs_address'], flush=True); sys.stdin.readline()"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert started.stdout is not None and started.stdin is not None
    with started:
        address = started.stdout.readline().strip()
        with pytest.raises(UserError, match=f"Ray cluster at {address} requires no token"), Cluster(address):
            pass
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(ray_folder / "none"))
        with (
            pytest.raises(UserError, match=f"joining the Ray cluster at {address} needs its token"),
            Cluster(address),
        ):
            pass
        started.stdin.close()
        started.wait(60)


def test_an_old_ray_is_rejected() -> None:
    check_version("2.52.0")
    check_version("3.0.0.dev0")
    with pytest.raises(
        UserError, match=r"^Ray 2\.51\.1 has no token authentication.*pip install 'ray\[client\]>=2\.52'$"
    ):
        check_version("2.51.1")
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (least,) = re.findall(r"ray\[client\]>=([\d.]+)", pyproject)
    check_version(least)


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
