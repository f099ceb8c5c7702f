"""Damaged copies of a model folder: bytes, JSON values, weights, missing files and files of another kind."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from pathlib import Path

from studies.fuzz.mutate import case_random, dump_json, mutate_bytes, mutate_json

KIND = "models"
ODD_FLOATS = (float("nan"), float("inf"), -float("inf"), 3e38)


def model_case(seed: int, number: int, model: Path, copy: Path) -> str:
    """Write a damaged copy of a model folder and return what was damaged."""
    rng = case_random(KIND, seed, number)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.suffix != ".md")
    file = rng.choice([*files, copy / "config.json", copy / "model.safetensors"])
    return f"{file.relative_to(copy)}: {_damage(rng, file)}"


def _damage(rng: random.Random, file: Path) -> str:
    action = rng.randrange(10)
    if action == 0:
        return _replace(rng, file)
    if file.suffix == ".json" and action < 8:
        file.write_bytes(dump_json(mutate_json(rng, json.loads(file.read_bytes()))))
        return "other values"
    if file.suffix == ".safetensors" and action < 6:
        file.write_bytes(_other_tensors(rng, file.read_bytes()))
        return "other tensors"
    file.write_bytes(mutate_bytes(rng, file.read_bytes()))
    return "other bytes"


def _replace(rng: random.Random, file: Path) -> str:
    file.unlink()
    choice = rng.choice(("missing", "empty", "a folder", "a pipe", "a link to itself"))
    if choice == "empty":
        file.touch()
    elif choice == "a folder":
        file.mkdir()
    elif choice == "a pipe":
        os.mkfifo(file)
    elif choice == "a link to itself":
        file.symlink_to(file.name)
    return choice


def _other_tensors(rng: random.Random, data: bytes) -> bytes:
    """Weights that are not numbers, a header with other values, or a wrong length of the header."""
    (length,) = struct.unpack("<Q", data[:8])
    header, weights = data[8 : 8 + length], data[8 + length :]
    choice = rng.randrange(3)
    if choice == 0:
        place = rng.randrange(len(weights) // 4) * 4
        odd = struct.pack("<f", rng.choice(ODD_FLOATS)) * rng.choice((1, 1000))
        return data[: 8 + length] + (weights[:place] + odd + weights[place + len(odd) :])[: len(weights)]
    if choice == 1:
        other = dump_json(mutate_json(rng, json.loads(header)))
        return struct.pack("<Q", len(other)) + other + weights
    return struct.pack("<Q", rng.choice((0, 1, length - 1, length + 1, 2**40, 2**64 - 1))) + header + weights
