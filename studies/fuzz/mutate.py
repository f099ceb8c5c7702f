"""Seeded damage to bytes and to JSON values: the same seed and number give the same case everywhere."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
NESTED = 100_000  # lists within lists
# Values in place of others in a JSON file; NESTED_MARK stands for a value too deep for json.dumps.
NESTED_MARK = "\0nested\0"
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, -0.5, 1e308, float("inf"), float("nan")),
    *(
        "",
        "x",
        "x" * 5000,
        "\0",
        "\ud800",
        "a\nb\x1b[31m",
        "../../../../etc/passwd",
        "/dev/zero",
        "hub:someone/some-model",
    ),
    *([], {}, [[]], [None], {"": ""}, ["a"] * 1000, NESTED_MARK),
)


def case_random(kind: str, seed: int, number: int) -> random.Random:
    """The source of randomness of one case."""
    return random.Random(f"{kind}/{seed}/{number}")


def mutate_bytes(rng: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Damage data at one to six places; others: files to take parts from."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(_DAMAGES)(rng, data, others)
    return data


def mutate_json(rng: random.Random, value: Any) -> Any:
    """A copy of a JSON value with one to three places removed, renamed, doubled or replaced."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            return rng.choice(ODD_VALUES)
        parent, key = rng.choice(places)
        action = rng.randrange(6)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[str(key) + rng.choice(("", "x", "\0"))] = parent.pop(key)
        elif action == 2 and isinstance(parent, list):
            parent.extend(parent[: rng.choice((1, 100))])
        else:
            parent[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return value


def dump_json(value: Any) -> bytes:
    """JSON text of a value, with Python's NaN and Infinity, and with NESTED_MARK as lists within lists."""
    text = json.dumps(value).replace(json.dumps(NESTED_MARK), "[" * NESTED + "]" * NESTED)
    return text.encode("utf-8")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys, at any depth."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _place(rng: random.Random, data: bytes) -> int:
    """A place in data; every second one in the first 100 bytes, where headers are."""
    return rng.randrange(max(1, min(len(data), 100) if rng.random() < 0.5 else len(data)))


def _flip(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _place(rng, data)
    return data[:place] + bytes([(data[place] if data else 0) ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def _random_bytes(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place, count = _place(rng, data), rng.choice((1, 2, 4, 16))
    return data[:place] + rng.randbytes(count) + data[place + count :]


def _length_field(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place, kind = _place(rng, data), rng.choice(("B", ">H", "<H", ">I", "<I"))
    size = struct.calcsize(kind)
    return data[:place] + struct.pack(kind, rng.choice(EXTREMES) & (256**size - 1)) + data[place + size :]


def _truncate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _remove(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _place(rng, data)
    return data[:place] + data[place + rng.choice((1, 2, 8, 64)) :]


def _repeat(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(rng, data)
    end = start + rng.choice((1, 4, 16, 256))
    return data[:end] + data[start:end] * rng.choice((1, 10, 1000)) + data[end:]


def _splice(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else data
    return data[: _place(rng, data)] + other[_place(rng, other) :]


_DAMAGES: tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...] = (
    *(_flip, _random_bytes, _length_field, _length_field, _truncate, _remove, _repeat, _splice),
)
