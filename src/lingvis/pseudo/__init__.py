"""Pseudo captions: stored detections -> sentences that describe pictures without human captions.

A pseudo caption lists the labels of the regions that a detector found, "red car young man dog". A3VSE (Huang et al.
2019, "Annotation Efficient Cross-Modal Retrieval with Adversarial Attentive Alignment") trains on them where human
captions are few. `captions` writes them, `labels` holds the tables that translate labels into other languages,
`label_tables` fills those tables from dictionaries, and `join` merges the detections of several detectors.
"""

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
