"""Questions that the demo asks its collection, and the answers as a reader can judge them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.data.dataset import Dataset

ASKED_IN = ("en", "de", "fr", "es", "ru", "zh", "ja", "ar")
THINGS = 3  # in a scene: the language of fewer words is often mistaken
ANSWERS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence, its language, and the picture that it was written for."""

    text: str
    lang: str
    picture: str


def example_questions(dataset: Dataset) -> list[Question]:
    """Sentences of the first test scenes with three things, each in another language."""
    tested = [row for row in dataset.rows if row.split == "test"]
    rows = sorted(tested, key=lambda row: abs(len(row.regions) - THINGS))
    return [Question(row.parallel[lang], lang, row.image) for lang, row in zip(ASKED_IN, rows, strict=False)]


def ask(collection: Collection, question: Question, folder: Path) -> dict[str, Any]:
    """The question with the language it is taken for, and its answers; paths are those below `folder`."""
    hits = [
        {
            "rank": hit.rank,
            "score": round(hit.score, 4),
            "path": Path(hit.path).relative_to(folder.resolve()).as_posix(),
            "caption": hit.entry.note,
        }
        for hit in collection.search(question.text, k=ANSWERS)
    ]
    return {**asdict(question), "detected": collection.language_of(question.text), "hits": hits}
