"""Pseudo captions: what detectors saw, written as text, in any language that has a table of labels."""

from lingvis.pseudo.captions import pseudo_caption, pseudo_captions
from lingvis.pseudo.labels import label_counts, read_label_table, table_file, write_label_table

__all__ = [
    "label_counts",
    "pseudo_caption",
    "pseudo_captions",
    "read_label_table",
    "table_file",
    "write_label_table",
]
