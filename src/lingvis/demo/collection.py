"""The demo's collection: the scenes that its model was not trained on."""

from __future__ import annotations

import shutil
from pathlib import Path

from lingvis.collection.binding import describe
from lingvis.collection.collection import Collection
from lingvis.collection.stores.open import open_store, store_exists
from lingvis.collection.writer.indexer import IndexReport
from lingvis.collection.writer.scan import is_below
from lingvis.data.dataset import Dataset
from lingvis.files import atomic_folder
from lingvis.model.encoder import load_encoder

CAPTIONS_IN = "en"


def gather(dataset: Dataset, folder: Path) -> None:
    """Copy the val and test pictures into one folder each, with a caption file that names all objects.

    Search compares with the pictures alone; the captions let a reader judge the results.
    """
    if folder.is_dir():
        return
    with atomic_folder(folder) as temporary:
        for row in dataset.rows:
            if row.split == "train":
                continue
            copy = temporary / row.split / row.image
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(dataset.images_dir / row.image, copy)
            caption = copy.with_suffix(f".{CAPTIONS_IN}.txt")
            caption.write_text(row.parallel[CAPTIONS_IN] + "\n", encoding="utf-8")


def fill(collection: Path, pictures: Path, run: Path, *, device: str | None = None) -> IndexReport:
    """Index new pictures; all of them if another model or a demo in another folder filled the collection."""
    rebuild = not _filled_by(collection, pictures, run, device)
    return Collection(collection, model=run, device=device).add([pictures], prune=True, rebuild=rebuild)


def _filled_by(collection: Path, pictures: Path, run: Path, device: str | None) -> bool:
    if not store_exists(str(collection)):
        return False
    store, folder = open_store(str(collection)), str(pictures.resolve())
    if not all(is_below(file.path, [folder]) for file in store.files()):
        return False
    return store.header == describe(load_encoder(run, device=device), run)
