"""The "precomp" arrays of VSE++, SCAN and VSE-infinity: {split}_ims.npy, {split}_caps.txt, {split}_ids.txt."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import Array, FeatureArrays, ImportedRows, ImportOptions
from lingvis.data.importers.source import SPLIT_NAMES, Source, plain_text
from lingvis.data.rows import Split
from lingvis.errors import UserError

ROWS_COMPARED_AT_ONCE = 256


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows of one language; the arrays become stored features."""
    if source.path.is_file():
        raise UserError(
            f"{source.path} is a file; precomp needs the folder with train_ims.npy and train_caps.txt"
        )
    lang = options.language or "en"
    captions = {name: {lang: source.path / f"{name}_caps.txt"} for name in SPLIT_NAMES}
    present = {name: files for name, files in captions.items() if files[lang].is_file()}
    if not present:
        raise UserError(f"{source.path} has no {{split}}_caps.txt; name a folder of precomp arrays")
    return join(source, {f"{name}_": (name, files) for name, files in present.items()}, options)


def join(
    source: Source, parts: Mapping[str, tuple[str, Mapping[str, Path]]], options: ImportOptions
) -> ImportedRows:
    """Rows and features of several parts.

    parts: prefix of the files (train_ or train/) -> the name of the split, and the caption file of each language.
    """
    rows, features, notes = RowCollector(), FeatureArrays(), []
    mapping = _id_mapping(source)
    named_in: dict[str, str] = {}
    for prefix, (name, files) in parts.items():
        if name == "test" and any(other == "testall" for other, _ in parts.values()):
            notes.append("test was left out: testall holds the whole test split")
            continue
        array = _array(source, source.path / f"{prefix}ims.npy", features)
        texts = {lang: source.lines(file) for lang, file in files.items()}
        listing = source.path / f"{prefix}ids.txt"
        ids = source.lines(listing) if listing.is_file() else []
        image_of_row = _image_of_row(array, texts, ids)
        firsts = np.unique(image_of_row, return_index=True)[1]
        names = _names(ids, prefix, firsts, len(array), mapping)
        for image, index in zip(names, firsts, strict=True):
            if image in named_in:
                raise UserError(
                    f"image {image!r} is in {named_in[image]} and again in {name}; make the ids unique, "
                    "or delete the *_ids.txt files to name images by split and position"
                )
            named_in[image] = name
            features.names.append(image)
            features.places.append((array, int(index)))
        split: Split = options.split or SPLIT_NAMES[name]
        for lang, lines in texts.items():
            owners = _image_of_caption(len(lines), image_of_row, len(names), files[lang], prefix)
            for number, (text, owner) in enumerate(zip(lines, owners, strict=True), start=1):
                where = f"{files[lang].name}, line {number}"
                with rows.collecting():
                    rows.add(names[owner], split, lang, text, where=where)
    return rows.imported(features=features, notes=notes)


def _array(source: Source, file: Path, features: FeatureArrays) -> Array:
    if not file.is_file():
        raise UserError(f"{file} is missing; captions of this format need their array of features")
    array = source.array(file)
    if array.ndim not in (2, 3) or array.dtype.kind != "f" or 0 in array.shape:
        raise UserError(
            f"{file} holds {array.dtype} {list(array.shape)}; expected floats [images, dim] or [images, regions, dim]"
        )
    if features.places and features.places[0][0].shape[-1] != array.shape[-1]:
        before = features.places[0][0].shape[-1]
        raise UserError(
            f"{file} has vectors of {array.shape[-1]} numbers and the split before it {before}; use one size"
        )
    return array


def _image_of_row(array: Array, texts: Mapping[str, list[str]], ids: list[str]) -> Ints:
    """The image that each row of the array belongs to, int64 [rows].

    Only an array with one row per caption of a language can repeat an image: then neighbours with the same id are
    one image or, if ids are missing or all differ, neighbours with equal features.
    """
    count = len(array)
    if all(len(lines) != count for lines in texts.values()):
        return np.arange(count)
    new = np.ones(count, dtype=bool)
    if len(ids) == count and any(one == other for one, other in pairwise(ids)):
        new[1:] = [one != other for one, other in pairwise(ids)]
        return np.cumsum(new) - 1
    for start in range(1, count, ROWS_COMPARED_AT_ONCE):
        stop = min(start + ROWS_COMPARED_AT_ONCE, count)
        block = np.asarray(array[start - 1 : stop]).reshape(stop - start + 1, -1)
        new[start:stop] = (block[1:] != block[:-1]).any(axis=1)
    return np.cumsum(new) - 1


def _image_of_caption(captions: int, image_of_row: Ints, images: int, file: Path, prefix: str) -> Ints:
    """The image that each caption describes, int64 [captions]."""
    if captions == len(image_of_row):
        return image_of_row
    if captions and captions % images == 0:
        return np.repeat(np.arange(images), captions // images)
    raise UserError(
        f"{file} has {captions} captions for {images} images in {prefix}ims.npy; "
        "the number of captions must be a multiple of the number of images"
    )


def _names(ids: list[str], prefix: str, firsts: Ints, rows: int, mapping: Mapping[str, str]) -> list[str]:
    """The name of each image: its id, translated by id_mapping.json if there is one; else its split and position."""
    images = len(firsts)
    if not ids:
        return [f"{prefix}{place:06d}" for place in range(images)]
    if len(ids) == rows:
        chosen = [ids[index] for index in firsts]
    elif len(ids) % images == 0:
        chosen = ids[:: len(ids) // images]
    else:
        raise UserError(
            f"{prefix}ids.txt has {len(ids)} ids for {images} images in {prefix}ims.npy; it may be cut off"
        )
    return [mapping.get(name, name) for name in chosen]


def _id_mapping(source: Source) -> dict[str, str]:
    """VSE-infinity keeps id_mapping.json (id -> file name) beside or above the arrays."""
    for file in (source.path / "id_mapping.json", source.path.parent / "id_mapping.json"):
        if file.is_file():
            value = source.json(file)
            if not isinstance(value, dict):
                raise UserError(f"{file} should map ids to file names, got {type(value).__name__}")
            return {
                key: plain_text(name, "file name", f"{file.name}, id {key!r}") for key, name in value.items()
            }
    return {}
