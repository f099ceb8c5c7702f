"""Rows for stores, made without a model."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from lingvis.collection.stores.records import Header, Item, PictureInfo

DIM = 64  # LanceDB looks at vectors this long more closely than at short ones
HEADER = Header(dim=DIM, image_fingerprint="a", text_fingerprint="b", model="/run", features={"kind": "grid"})


def unit(generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = generator.normal(size=DIM).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def make_item(number: int, seed: int = 0) -> Item:
    generator = np.random.default_rng([seed, number])
    folder = "/p/it's" if number % 3 == 0 else "/p/its" if number % 3 == 1 else "/p/it's/deep_%"
    entry = PictureInfo(
        id=f"{number:04x}",
        path=f"{folder}/{number}.jpg",
        hash=f"h{number}",
        size=100 * number,
        mtime_ns=number,
        width=number + 1,
        height=2,
        format="jpeg" if number % 2 else "png",
        date=datetime(2020, 1, 1) + timedelta(days=number, microseconds=number),
        caption=f"note {number}" if number % 4 == 0 else None,
        lang="en" if number % 4 == 0 else None,
        camera="Canon EOS 5D" if number % 2 else None,
        latitude=number % 90 - 30.25 if number % 5 == 0 else None,
        longitude=-10.5 * (number % 60) / 4 if number % 5 == 0 else None,
        signature=bytes([number % 256]) * 108 if number % 7 else None,
    )
    noted = unit(generator) if entry.caption else None
    return Item(entry, unit(generator), bytes([number % 256]) * 3, noted)
