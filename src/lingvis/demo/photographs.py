"""The demo's photographs: free ones that come with lingvis, each with its author and licence as its caption."""

from __future__ import annotations

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.demo.collection import fill
from lingvis.demo.queries import DemoQuery, run_query
from lingvis.files import atomic_folder
from lingvis.pretrained import find_model

SHIPPED = Path(__file__).parent / "photos"
ATTRIBUTION = "ATTRIBUTION.csv"
# One thing to look for per language of lingvis-base.
QUERIES = (
    ("en", "a surfer on a big wave"),
    ("de", "ein Vogel auf einem Ast"),
    ("fr", "des gens autour du feu"),
    ("cs", "kůň na louce"),
    ("pt", "um trem nos trilhos"),
    ("zh", "盘子里的食物"),
    ("ar", "جبل مغطى بالثلوج"),
    ("ug", "سۇ ئۈستىدىكى كېمە"),
    ("bo", "མེ་ཏོག"),
    ("mn", "ᠨᠣᠬᠠᠢ"),
)


@dataclass(frozen=True, slots=True)
class Attribution:
    """A line of ATTRIBUTION.csv; statement: of the licence in the source; changes: made to the picture."""

    file: str
    title: str
    author: str
    licence: str
    licence_url: str
    page: str
    source: str
    path: str
    statement: str
    changes: str
    sha256: str

    @property
    def credit(self) -> str:
        """Title, author, licence and changes with their addresses, as the licences require."""
        return (
            f"{self.title} | {self.author} | {self.licence}: {self.licence_url} | {self.page} | "
            f"changes: {self.changes}"
        )


def attributions(folder: Path = SHIPPED) -> list[Attribution]:
    """Return the attributions of all photographs in a folder."""
    with (folder / ATTRIBUTION).open(encoding="utf-8", newline="") as lines:
        return [Attribution(**row) for row in csv.DictReader(lines)]


def gather_photographs(folder: Path) -> None:
    """Copy the photographs into a folder, each with its credit as a caption, which the search page shows."""
    if folder.is_dir():
        return
    with atomic_folder(folder) as temporary:
        shutil.copyfile(SHIPPED / ATTRIBUTION, temporary / ATTRIBUTION)
        for photo in attributions():
            shutil.copy2(SHIPPED / photo.file, temporary / photo.file)
            caption = (temporary / photo.file).with_suffix(".en.txt")
            caption.write_text(photo.credit + "\n", encoding="utf-8")


def search_photographs(folder: Path, collection: Path, *, device: str | None = None) -> dict[str, Any]:
    """Index the photographs by lingvis-base and run a query per language; returns the numbers and the results."""
    gather_photographs(folder)
    indexed = fill(collection, folder, find_model(), device=device)
    opened = Collection.open(collection, device=device)
    queries = [DemoQuery(text, lang) for lang, text in QUERIES]
    answers = [run_query(opened, query, folder) for query in queries]
    return {"pictures": indexed.pictures, "added": indexed.added, "queries": answers}
