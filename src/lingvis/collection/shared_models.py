"""Models that several collections of a process share: one in memory, however many use it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from lingvis.model.encoder import Encoder, load_encoder


@dataclass(eq=False)
class SharedModel:
    """A loaded model; each side serves one thread at a time, so that a search by words never waits for a picture."""

    embedder: Encoder
    text_lock: threading.Lock = field(default_factory=threading.Lock)
    image_lock: threading.Lock = field(default_factory=threading.Lock)


_LOADED: WeakValueDictionary[tuple[object, ...], SharedModel] = WeakValueDictionary()
_LOADING = threading.Lock()


def load_shared(run: Path, device: str | None) -> SharedModel:
    """Return the model in a folder; the one in memory, as long as it is in use and the files have not changed."""
    files = sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in run.iterdir())
    key = (os.path.realpath(run), device, tuple(files))
    with _LOADING:
        model = _LOADED.get(key)
        if model is None:
            model = _LOADED[key] = SharedModel(load_encoder(run, device=device))
        return model
