"""Label tables, which translate labels: DATASET/labels/de.csv with the columns label and translation."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.data.rows import LANGUAGE_CODE, Row
from lingvis.errors import UserError
from lingvis.files import write_text

COLUMNS = ("label", "translation")
LABELS = "labels"  # the folder below a dataset


def table_file(dataset: Dataset, lang: str) -> Path:
    """The file of a language's label table."""
    if not LANGUAGE_CODE.fullmatch(lang):
        raise UserError(f"bad language code {lang!r}; use BCP-47 such as de, pt-BR or zh-Hant")
    return dataset.path / LABELS / f"{lang}.csv"


def read_label_table(file: Path) -> dict[str, str]:
    """Label or attribute -> its translation, empty if there is none yet."""
    try:
        lines = csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig")))
        head, *rows = [row for row in lines if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"labels {file} cannot be read: {error}; use a CSV file in UTF-8") from error
    if tuple(head) != COLUMNS:
        raise UserError(
            f"labels {file} start with {','.join(head)!r}; the first line must be {','.join(COLUMNS)}"
        )
    table: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != 2 or not row[0].strip() or row[0].strip() in table:
            raise UserError(
                f"labels {file}, row {number}: {','.join(row)!r} is not a label and a translation, or repeats a label; "
                f"write each label once, on its own line, followed by a comma"
            )
        table[row[0].strip()] = " ".join(row[1].split())
    return table


def write_label_table(file: Path, table: Mapping[str, str]) -> None:
    """Write a label table atomically."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([COLUMNS, *table.items()])
    write_text(file, out.getvalue())


def label_counts(rows: Iterable[Row]) -> Counter[str]:
    """Label or attribute -> number of regions that have it."""
    return Counter(
        word for row in rows for region in row.regions for word in (region.label, region.attribute) if word
    )
