"""Which device computes, and what a GPU gets before it does."""

from __future__ import annotations

import os

import pytest
import torch

from lingvis.device import WORKSPACE, WORKSPACE_SIZE, choose_device
from lingvis.errors import UserError


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with one GPU; the variable of the test's own process comes back afterwards."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv(WORKSPACE, "given")
    monkeypatch.delenv(WORKSPACE)


def test_a_gpu_gets_a_workspace_of_a_fixed_size(one_gpu: None) -> None:
    assert choose_device("cpu").type == "cpu"
    assert WORKSPACE not in os.environ
    assert choose_device("cuda").type == "cuda"
    assert os.environ[WORKSPACE] == WORKSPACE_SIZE


def test_a_workspace_of_the_environment_stays(one_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, ":16:8")
    choose_device("cuda:0")
    assert os.environ[WORKSPACE] == ":16:8"


@pytest.mark.parametrize("name", ["cuda:1", "gpu", "meta"])
def test_a_device_that_is_not_there_is_named(one_gpu: None, name: str) -> None:
    with pytest.raises(UserError, match=name):
        choose_device(name)
    assert WORKSPACE not in os.environ
