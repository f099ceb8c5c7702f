"""Files that an index skips because lingvis reads no such format, by their suffix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

HEIC = (".heic", ".heif")
CAPTION = ".txt"
MOST_TYPES = 100  # suffixes that are counted apart, so that strange names do not fill a report
OTHER = "other"


def count_skipped(counts: Counter[str], suffix: str) -> None:
    """Count a file that is not a picture; captions, which are text files, are not counted."""
    if suffix != CAPTION:
        counts[suffix if suffix in counts or len(counts) < MOST_TYPES else OTHER] += 1


def skipped_types(counts: Mapping[str, int]) -> str:
    """Return the numbers of skipped files by type as a clause, with the remedy for HEIC."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count} {suffix or 'without a suffix'}" for suffix, count in ordered)
    heic = any(suffix in counts for suffix in HEIC)
    return f"{listed}; to index HEIC pictures, run: pip install 'lingvis[heic]'" if heic else listed
