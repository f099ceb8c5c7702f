"""Recall of moments of videos, and the speed of indexing them."""

from __future__ import annotations

from studies.tables.markdown import table
from studies.tables.results.records import Results

LABELS = {
    "backbone": "backbone alone, pixels in memory",
    "decoding": "decoding and comparing all frames of the videos, in one thread",
    "index": "`lingvis index`: frames that it decodes",
    "moments": "`lingvis index`: frames that it chooses and encodes",
}


def video_table(results: Results) -> str:
    """R@k by language, then frames per second."""
    record = results.get("video", "video")
    hardware, recalls = record["hardware"], record["recall"]
    ranks = list(next(iter(recalls.values())))
    found = table(
        ["language", *ranks],
        [[f"`{lang}`", *(f"{values[rank]:.1f}" for rank in ranks)] for lang, values in recalls.items()],
    )
    speeds = table(
        ["way", "frames/s"],
        [[LABELS[way], f"{rate:,.0f}"] for way, rate in record["frames_per_second"].items()],
    )
    return (
        f"Recall of the right shot among all {record['shots']} shots of {record['videos']} made-up videos "
        f"({record['seconds'] // record['videos']} seconds each), %: moving scenes of the demo's test split, each "
        f"with a sentence that names its objects; model of recipe `{record['recipe']}`, trained on pictures of "
        f"other scenes. The index has {record['moments']} moments.\n\n{found}\n\n"
        f"Speed on {hardware['cores']} cores ({hardware['cpu']}), {record['backbone']}, {record['frames']:,} frames "
        f"of 224 x 224 pixels, median of {len(record['rounds']['index'])} rounds:\n\n{speeds}"
    )
