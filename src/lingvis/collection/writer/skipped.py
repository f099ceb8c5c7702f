"""Files that an index skips because lingvis reads no such format, by their suffix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lingvis.data.video.formats import ALL_SUFFIXES

REMEDIES = (
    ((".heic", ".heif"), "; to index HEIC pictures, run: pip install 'lingvis[heic]'"),
    (tuple(sorted(ALL_SUFFIXES)), "; to index videos, run: pip install 'lingvis[video]'"),
)
CAPTION = ".txt"
MOST_TYPES = 100  # suffixes that are counted apart, so that strange names do not fill a report
OTHER = "other"


def count_skipped(counts: Counter[str], suffix: str) -> None:
    """Count a file that is not a picture; captions, which are text files, are not counted."""
    if suffix != CAPTION:
        counts[suffix if suffix in counts or len(counts) < MOST_TYPES else OTHER] += 1


def skipped_types(counts: Mapping[str, int]) -> str:
    """Return the numbers of skipped files by type as a clause, with the remedies for HEIC and videos."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count} {suffix or 'without a suffix'}" for suffix, count in ordered)
    return listed + "".join(
        remedy for suffixes, remedy in REMEDIES if any(suffix in counts for suffix in suffixes)
    )
