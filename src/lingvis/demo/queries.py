"""Example queries to the demo's collection, and results that a reader can judge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.data.dataset import Dataset

LANGUAGES = ("en", "de", "fr", "es", "ru", "zh", "ja", "ar")
THINGS = 3  # in a scene: the language of shorter sentences is often detected wrongly
RESULTS = 3


@dataclass(frozen=True, slots=True)
class DemoQuery:
    """A sentence, its language, and the picture that it describes, if there is only one."""

    text: str
    lang: str
    picture: str | None = None


def example_queries(dataset: Dataset) -> list[DemoQuery]:
    """Return sentences of the first test scenes with three things, each in another language."""
    tested = [row for row in dataset.rows if row.split == "test"]
    rows = sorted(tested, key=lambda row: abs(len(row.regions) - THINGS))
    return [
        DemoQuery(row.parallel[lang], lang, row.image) for lang, row in zip(LANGUAGES, rows, strict=False)
    ]


def run_query(collection: Collection, query: DemoQuery, folder: Path) -> dict[str, Any]:
    """Return the query with its detected language, and its results; paths are relative to `folder`."""
    hits = [
        {
            "rank": hit.rank,
            "score": round(hit.score, 4),
            "path": Path(hit.path).relative_to(folder.resolve()).as_posix(),
            "caption": hit.info.caption,
        }
        for hit in collection.search(query.text, k=RESULTS)
    ]
    return {**asdict(query), "detected": collection.language_of(query.text), "hits": hits}
