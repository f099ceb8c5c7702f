"""VATEX: videos with ten English and ten Chinese sentences each (vatex_training_v1.0.json, ...).

The last five of both languages are translations of one another, in this order; the first pair of them is stored as parallel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, plain_text, split_within
from lingvis.data.importers.videos.names import VideoNames
from lingvis.data.rows import Split
from lingvis.errors import UserError

SHAPE = '[{"videoID": ..., "enCap": [...], "chCap": [...]}]'
CAPTIONS = {"en": "enCap", "zh": "chCap"}
SENTENCES, TRANSLATED = 10, 5  # of a video in a language; the last of them are translations


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from all files of the source; the split is in the name of a file."""
    files = source.files("*vatex*.json", "*VATEX*.json")
    if not files:
        raise UserError(f"{source.path} has no file *vatex*.json; name the file itself")
    rows, name = RowCollector(), VideoNames(source, options)
    for file in files:
        split = _split(file, options)
        try:
            for number, video in enumerate(source.json(file), start=1):
                where = f"{file.name}, video {number}"
                with rows.collecting():
                    _add(rows, name(plain_text(video["videoID"], "videoID", where)), split, video, where)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{file} is not a VATEX file, which looks like {SHAPE}; got {error!r}") from error
    return rows.imported()


def _split(file: Path, options: ImportOptions) -> Split:
    split = options.split or split_within(file.name)
    if split is None:
        raise UserError(f"the name of {file.name} does not state its split; set split")
    return split


def _add(rows: RowCollector, image: str, split: Split, video: dict[str, Any], where: str) -> None:
    sentences = {lang: video[key] for lang, key in CAPTIONS.items() if key in video}
    for lang, listed in sentences.items():
        for text in listed:
            rows.add(image, split, lang, text, where=where)
    if len(sentences) == len(CAPTIONS) and all(len(listed) == SENTENCES for listed in sentences.values()):
        pair = {lang: listed[-TRANSLATED] for lang, listed in sentences.items()}
        rows.add_parallel(image, split, pair, where=where)
