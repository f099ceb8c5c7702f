"""COCO captions JSON and its relatives: STAIR and YJ captions (same shape), COCO-CN (lines `image#n caption`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, bare_name, parse_language, plain_text, split_within
from lingvis.data.rows import Split
from lingvis.errors import UserError

SHAPE = '{"images": [{"id": ..., "file_name": ...}], "annotations": [{"image_id": ..., "caption": ...}]}'
# Words in a file name that state its language, like a code before the suffix (captions_val.de.json).
LANGUAGE_OF = {"stair": "ja", "yjcaptions": "ja", "coco-cn": "zh", "imageid.": "zh"}
ENGLISH = re.compile(r"captions_(train|val|test)20\d\d\.")
CAPTION_LINE = re.compile(r"(?P<image>[^#\s]+)#\S*\s+(?P<caption>.*)")
# Copies of a file with spaces between the words: read only if the file itself is missing.
SEGMENTED = re.compile(r"[._-](tokenized|bosonseg)")


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """All caption files of the source, merged by picture; text files that only list picture names define splits."""
    files = _without_segmented(source.files("*caption*.json", "*caption*.txt"))
    if not files:
        raise UserError(
            f"{source.path} has no file *caption*.json or *caption*.txt; name the caption file itself"
        )
    lists = _split_lists(source, files)
    rows = RowCollector()
    for file in files:
        lang = _language(file, options)
        read_file = _from_lines if bare_name(file).endswith(".txt") else _from_json
        for where, image, caption in read_file(source, file, rows):
            split = options.split or lists.get(image) or split_within(file.name) or split_within(image)
            with rows.collecting():
                if split is None:
                    raise UserError(f"{file.name} does not state the split of image {image!r}; set split")
                rows.add(image, split, lang, caption, where=where)
    return rows.imported()


def _without_segmented(files: list[Path]) -> list[Path]:
    names = {bare_name(file) for file in files}
    plain = {file: SEGMENTED.sub("", bare_name(file)) for file in files}
    return [file for file in files if plain[file] == bare_name(file) or plain[file] not in names]


def _language(file: Path, options: ImportOptions) -> str:
    stem = bare_name(file).rsplit(".", 1)[0].lower()
    named = next((lang for word, lang in LANGUAGE_OF.items() if word in stem + "."), None)
    suffix = parse_language(stem.rsplit(".", 1)[-1]) if "." in stem else None
    lang = named or suffix or options.language or ("en" if ENGLISH.match(bare_name(file)) else None)
    if lang is None:
        raise UserError(f"the name of {file.name} does not state its language; set language")
    return lang


def _from_json(source: Source, file: Path, rows: RowCollector) -> Iterator[tuple[str, str, str]]:
    """Place, image and caption of each annotation; others become problems of `rows`."""
    try:
        value = source.json(file)
        names = {
            image["id"]: plain_text(image["file_name"], "file_name", f"{file.name}, image {number}")
            for number, image in enumerate(value["images"], start=1)
        }
        for number, annotation in enumerate(value["annotations"], start=1):
            where = f"{file.name}, annotation {number}"
            if annotation["image_id"] not in names:
                rows.problem(
                    f"{where}: its image_id {annotation['image_id']} is not among the images; add the image or "
                    "remove the caption"
                )
                continue
            yield where, names[annotation["image_id"]], annotation["caption"]
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{file} is not a COCO captions file, which looks like {SHAPE}; got {error!r}"
        ) from error


def _from_lines(source: Source, file: Path, rows: RowCollector) -> Iterator[tuple[str, str, str]]:
    """Place, image and caption of each line; others become problems of `rows`."""
    for number, line in enumerate(source.lines(file), start=1):
        if not line:
            continue
        match = CAPTION_LINE.fullmatch(line)
        if match is None:
            rows.problem(f"{file}, line {number}: expected 'image#number caption', got {line[:40]!r}")
            continue
        yield f"{file.name}, line {number}", _picture(match["image"]), match["caption"]


def _split_lists(source: Source, captions: list[Path]) -> dict[str, Split]:
    """Image -> split, from lists such as coco-cn_train.txt with one picture name per line."""
    if source.path.is_file():
        return {}
    lists: dict[str, Split] = {}
    for file in source.files("*.txt"):
        split = split_within(file.name)
        if file in captions or split is None or SEGMENTED.search(file.name):
            continue
        names = [line for line in source.lines(file) if line]
        if all(len(name.split()) == 1 and "#" not in name for name in names):
            lists.update({_picture(name): split for name in names})
    return lists


def _picture(name: str) -> str:
    """The file name of a picture; COCO-CN omits the suffix."""
    return name if Path(name).suffix else f"{name}.jpg"
