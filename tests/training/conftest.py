from __future__ import annotations

import json
from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset
from lingvis.pseudo.labels import table_file, write_label_table

from ..conftest import COLOURS, THINGS, make_rich_dataset


@pytest.fixture(scope="module")
def one_language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy dataset with sentences about all things in all colours, and a German table of labels."""
    folder = make_rich_dataset(tmp_path_factory.mktemp("one") / "data")
    lines = [
        json.dumps({"id": f"{c}-{t}", "captions": {"en": [f"a {c} {t}"], "de": [f"{ding} {farbe} gefärbt"]}})
        for c, farbe in COLOURS.items()
        for t, ding in THINGS.items()
    ]
    (folder / "text-only.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_label_table(table_file(Dataset.open(folder), "de"), {**COLOURS, **THINGS})
    return folder
