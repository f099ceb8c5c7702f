"""Docs cannot drift: tables, help texts and names are compared with what the program says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lingvis.data.importers import IMPORTERS
from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.objectives import OBJECTIVES
from lingvis.pooling import POOLERS
from lingvis.recipes.library import recipe_names
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
from lingvis.terms import TERMS
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.heads import TEXT_HEADS
from lingvis.text.tokenizers.base import TOKENIZERS
from lingvis.text.translators import TRANSLATORS
from lingvis.text.words.base import WORDS
from lingvis.training.pretraining import PRETRAINING
from lingvis.training.sampling import SAMPLERS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "studies.tables.generate", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_name_is_documented() -> None:
    documented = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in (*recipe_names(), *POOLERS.names()):
        assert f"`{name}`" in documented, name
    for name in TRANSLATORS.names():
        assert f"| `{name}` |" in documented, name
    for name in IMPORTERS.names():
        assert f"lingvis data import {name} " in documented, name


@pytest.mark.parametrize(
    "registry",
    [
        IMAGE_AUGMENTS,
        IMAGE_ENCODERS,
        POOLERS,
        TOKENIZERS,
        TEXT_AUGMENTS,
        WORDS,
        TEXT_ENCODERS,
        TEXT_HEADS,
        SIMILARITIES,
        OBJECTIVES,
        TERMS,
        SAMPLERS,
        PRETRAINING,
    ],
    ids=lambda registry: registry.kind,
)
def test_every_part_is_documented_as_it_describes_itself(registry: Registry[Any]) -> None:
    page = (ROOT / "docs" / "reference" / "parts.md").read_text(encoding="utf-8")
    for entry in registry:
        assert f"| `{entry.name}` | {entry.summary} |" in page
