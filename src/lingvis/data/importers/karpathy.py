"""Karpathy and Fei-Fei's JSON of Flickr8k, Flickr30k and COCO (dataset_flickr8k.json, ...)."""

from __future__ import annotations

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, plain_text, split_name
from lingvis.errors import UserError

SHAPE = '{"images": [{"filename": ..., "split": ..., "sentences": [{"raw": ...}]}]}'


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from images[].filename (below filepath, if given), images[].split and images[].sentences[].raw."""
    file = source.one_file("dataset*.json")
    rows = RowCollector()
    try:
        for number, image in enumerate(source.json(file)["images"], start=1):
            where = f"{file.name}, image {number}"
            parts = (image.get("filepath") or "", image["filename"])
            with rows.collecting():
                name = "/".join(plain_text(part, "filename", where) for part in parts if part != "")
                split = options.split or split_name(image["split"], where)
                for sentence in image["sentences"]:
                    rows.add(name, split, options.language or "en", sentence["raw"], where=where)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file} is not a Karpathy file, which looks like {SHAPE}; got {error!r}") from error
    return rows.imported()
