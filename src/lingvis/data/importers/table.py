"""CSV, TSV and Parquet tables: image, caption, split, lang; or one column per language, caption_en, caption_de."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, bare_name, language_code, split_name
from lingvis.errors import UserError, choices

DELIMITERS = {".csv": ",", ".tsv": "\t"}
WIDE = "caption_"
KNOWN = ("image", "caption", "split", "lang", "language")
Record = Mapping[str, Any]


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from a table with one line per caption or per image.

    An empty cell is no caption; without a split, the image's name decides, 80/10/10.
    """
    file = source.one_file("*.csv", "*.tsv", "*.parquet")
    rows = RowCollector()
    for where, record in _records(source, file, rows):
        with rows.collecting():
            _add(rows, record, options, where)
    return rows.imported()


def _add(rows: RowCollector, record: Record, options: ImportOptions, where: str) -> None:
    image = str(record["image"] or "").strip()
    if not image:
        raise UserError(f"{where}: the image is empty; name a picture")
    split = options.split or (split_name(str(record["split"]), where) if record.get("split") else None)
    for lang, text in _captions(record, options, where):
        rows.add(image, split, lang, text, where=where)


def _records(source: Source, file: Path, rows: RowCollector) -> Iterator[tuple[str, Record]]:
    """Place and cells of each line; lines that cannot be read become problems of `rows`."""
    suffix = Path(bare_name(file)).suffix.lower()
    if suffix == ".parquet":
        yield from _parquet(source, file)
    elif suffix in DELIMITERS:
        yield from _delimited(source.text(file), file, DELIMITERS[suffix], rows)
    else:
        raise UserError(f"{file} is not a table; allowed are {choices([*DELIMITERS, '.parquet'])}")


def _delimited(text: str, file: Path, delimiter: str, rows: RowCollector) -> Iterator[tuple[str, Record]]:
    header = text.partition("\n")[0]
    if delimiter == "," and ";" in header and "," not in header:
        delimiter = ";"  # spreadsheets write it in countries with decimal commas
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        _check(columns, file)
        for cells in reader:
            where = f"{file.name}, line {reader.line_num}"
            if len(cells) > len(columns):
                rows.problem(
                    f"{where}: {len(cells)} cells for {len(columns)} columns; quote cells with {delimiter!r}"
                )
            elif cells:
                yield where, dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=True))
    except csv.Error as error:
        rows.problem(f"{file.name}, line {reader.line_num}: {error}; is the delimiter {delimiter!r}?")


def _parquet(source: Source, file: Path) -> Iterator[tuple[str, Record]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError(
            "reading Parquet needs pyarrow; install it with: pip install 'lingvis[parquet]'"
        ) from error
    source.remember(file)
    try:
        with source.open(file) as opened, parquet.ParquetFile(opened) as table:
            names = table.schema_arrow.names
            _check(names, file)
            columns = [name for name in names if name in KNOWN or name.startswith(WIDE)]
            number = 0
            for batch in table.iter_batches(columns=columns):
                try:
                    records = batch.to_pylist()
                except UnicodeDecodeError as error:  # Parquet files may declare any bytes as text
                    rows = f"rows {number + 1} to {number + len(batch)}"
                    raise UserError(f"{file.name}, {rows}: text that is not UTF-8: {error}") from error
                for record in records:
                    number += 1
                    yield f"{file.name}, row {number}", record
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{file} is not a complete Parquet file: {error}") from error


def _check(columns: Iterable[str], file: Path) -> None:
    columns = list(columns)
    wide = [name for name in columns if name.startswith(WIDE)]
    if "image" not in columns or not ("caption" in columns or wide):
        raise UserError(
            f"{file} has the columns {choices(columns)}; it needs image and caption, or image and caption_en"
        )
    for name in wide:
        language_code(name.removeprefix(WIDE), f"{file.name}, column {name}")


def _captions(record: Record, options: ImportOptions, where: str) -> Iterator[tuple[str, str]]:
    """Language and text of each caption of a record; a Parquet cell may hold a list of captions."""
    for column, value in record.items():
        if column != "caption" and not column.startswith(WIDE):
            continue
        texts = [value] if value is None or isinstance(value, str) else value
        if not isinstance(texts, list) or not all(text is None or isinstance(text, str) for text in texts):
            raise UserError(f"{where}: column {column} should hold text, got {type(value).__name__}")
        captions = [text for text in texts if text and text.strip()]
        if not captions:
            continue
        lang = column.removeprefix(WIDE) if column != "caption" else None
        lang = lang or record.get("lang") or record.get("language") or options.language
        if not lang:
            raise UserError(f"{where}: no language; add a column lang, or set language")
        for text in captions:
            yield str(lang), text
