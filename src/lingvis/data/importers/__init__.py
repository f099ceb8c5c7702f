"""Importers: other formats -> a dataset folder; one module per format, registered in IMPORTERS."""

from __future__ import annotations

from pathlib import Path

from lingvis.data.importers import coco, karpathy, liwe, multi30k, precomp, sidecar, table, xtd10
from lingvis.data.importers.contract import (
    FeatureArrays,
    ImportedRows,
    Importer,
    ImportOptions,
    WriteFeatures,
)
from lingvis.data.importers.folder import ImportResult, write_import
from lingvis.data.importers.source import Source, language_code, split_name
from lingvis.data.importers.videos import msrvtt, vatex
from lingvis.registry import Registry

__all__ = [
    "IMPORTERS",
    "FeatureArrays",
    "ImportOptions",
    "ImportResult",
    "ImportedRows",
    "Importer",
    "Source",
    "WriteFeatures",
    "import_dataset",
]

IMPORTERS: Registry[Importer] = Registry("import format")
IMPORTERS.register("karpathy", "Karpathy's JSON of Flickr8k, Flickr30k and COCO")(karpathy.read)
IMPORTERS.register("multi30k", "Multi30K: task 1 translations, task 2 descriptions")(multi30k.read)
IMPORTERS.register("coco", "COCO captions JSON, STAIR, YJ captions, COCO-CN")(coco.read)
IMPORTERS.register("xtd10", "XTD10: 1,000 COCO pictures in ten languages")(xtd10.read)
IMPORTERS.register("precomp", "VSE++/SCAN/VSE-infinity arrays with captions")(precomp.read)
IMPORTERS.register("liwe", "LIWE's caps.<lang>.txt beside such arrays")(liwe.read)
IMPORTERS.register("msrvtt", "MSR-VTT: videos with English captions")(msrvtt.read)
IMPORTERS.register("vatex", "VATEX: videos with English and Chinese captions")(vatex.read)
IMPORTERS.register("csv", "CSV, TSV or Parquet with image and caption columns")(table.read)
IMPORTERS.register("folder", "a folder of pictures with .txt files beside them")(sidecar.read)


def import_dataset(
    format: str,
    source: Path | str,
    target: Path | str,
    *,
    images: Path | str | None = None,
    language: str | None = None,
    split: str | None = None,
    follow_links: bool = False,
    force: bool = False,
    write_features: WriteFeatures | None = None,
) -> ImportResult:
    """Import `source` into the dataset folder `target`, completely or not at all.

    images: folder of the pictures; language, split: for sources that do not state them. follow_links: import what
    symbolic links point to, also outside `source` and `images`; otherwise such a link is an error. Repeating an import
    changes nothing; a target of another import is replaced only with `force`. write_features stores the vectors of
    formats that contain them (precomp, liwe): it gets a folder, image names and one array [regions, dim] per image.
    """
    read = IMPORTERS.get(format)
    options = ImportOptions(
        images=Path(images) if images is not None else None,
        language=language_code(language, "language") if language else None,
        split=split_name(split, "split") if split else None,
        follow_links=follow_links,
    )
    return write_import(
        format, read, Path(source), Path(target), options, force=force, write_features=write_features
    )
