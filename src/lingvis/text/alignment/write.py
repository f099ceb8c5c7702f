"""Words and vectors as a text file that other programs can read."""

from __future__ import annotations

from pathlib import Path

from lingvis.arrays import Floats
from lingvis.text.alignment.neighbours import blocks
from lingvis.text.vectors.table import WordTable


def write_vectors_text(file: Path, table: WordTable, matrix: Floats | None = None) -> None:
    """Write fastText's .vec format as a stream: a line with the counts of words and dimensions, then one word per line.

    matrix [d, d]: maps the vectors before they are written.
    """
    dim = table.dim
    line = " ".join(["%s", *["%.6g"] * dim]) + "\n"
    with file.open("w", encoding="utf-8", newline="\n") as out:
        out.write(f"{len(table.words)} {dim}\n")
        for block in blocks(len(table.words)):
            values = table.values[block] if matrix is None else table.values[block] @ matrix.T
            rows = zip(table.words[block], values.tolist(), strict=True)
            out.writelines(line % (word, *row) for word, row in rows)
