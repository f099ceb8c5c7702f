"""The table of the shipped model in each precision."""

from __future__ import annotations

from lingvis.pretrained import DEFAULT
from studies.pretrained.precision import FOLDER, PRECISIONS, record_name
from studies.tables.markdown import table
from studies.tables.results.records import Results


def precision_table(results: Results) -> str:
    """Size, mR by language and speed of the shipped model, one row per precision."""
    found = [results.find(FOLDER, record_name(DEFAULT, "test", weights)) for weights in PRECISIONS]
    records = [record for record in found if record is not None]
    if not records:
        return f"The precision of `{DEFAULT}` has not been measured yet."
    languages = list(records[0]["languages"])
    rows = [
        [
            record["weights"],
            f"{record['weight_bytes'] / 1e6:.1f}",
            *(f"{record['languages'][lang]['mR']:.2f}" for lang in languages),
            f"{record['A']:.2f}",
            f"{record['ms_per_sentence']:.1f}",
            f"{record['ms_per_picture']:.0f}",
        ]
        for record in records
    ]
    return table(["weights", "MB", *languages, "A", "ms per sentence", "ms per picture"], rows)
