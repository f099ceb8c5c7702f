"""Moments of videos among the hits: a scene is shown once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.records import Hit, PictureInfo, page_of

APART = 5.0  # seconds; closer moments of one video are one hit, the best of them
GROWTH = 4  # how many times more rows are read if a page is not full


def find_scenes(
    find: Callable[[int], list[Hit]], *, k: int, offset: int, seen: PictureInfo | None = None
) -> list[Hit]:
    """Return a page of hits without moments that are close to a better one; find: the best rows, given their number.

    seen: a picture that is left out, with the moments close to it.
    """
    wanted = asked = k + offset
    while True:
        hits = find(asked + (seen is not None))
        kept = one_per_scene(hits, seen)
        if len(kept) >= wanted or len(hits) < asked:
            return page_of(kept[offset:wanted], first_rank=offset + 1)
        asked *= GROWTH


def one_per_scene(hits: Sequence[Hit], seen: PictureInfo | None = None) -> list[Hit]:
    """Leave out moments that are close to a better one of the same video; hits: best first."""
    shown: dict[str, list[float]] = {}
    if seen is not None and seen.second is not None:
        shown[seen.path] = [seen.second]
    kept = []
    for hit in hits:
        second = hit.info.second
        if seen is not None and hit.id == seen.id:
            continue
        if second is not None:
            seconds = shown.setdefault(hit.path, [])
            if any(abs(second - other) < APART for other in seconds):
                continue
            seconds.append(second)
        kept.append(hit)
    return kept


def with_moments(store: Store, ids: Sequence[str]) -> list[PictureInfo]:
    """Return the records of the existing pictures with these ids, of a video those of all its moments."""
    found = {info.id: info for info in store.infos(ids)}
    paths = {info.path for info in found.values() if info.second is not None}
    same = store.having([info.hash for info in found.values() if info.path in paths]) if paths else []
    return list((found | {info.id: info for info in same if info.path in paths}).values())


def clock(second: float) -> str:
    """Return a second of a video as people read it: 0:42 or 1:02:03."""
    minutes, seconds = divmod(int(second), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def shown_path(info: PictureInfo) -> str:
    """Return the path of a picture, or that of a video with the time of the moment."""
    return info.path if info.second is None else f"{info.path} @ {clock(info.second)}"
