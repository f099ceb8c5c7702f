"""Docs cannot drift: tables, help texts, names and links are compared with the program and the pages themselves."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import lingvis
from lingvis.cli.app import app
from lingvis.data.importers import IMPORTERS
from lingvis.pooling import POOLERS
from lingvis.recipes.library import recipe_names
from lingvis.registry import Registry
from lingvis.text.translators import TRANSLATORS
from studies.tables.reference.parts import REGISTRIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def anchors(text: str) -> set[str]:
    """The anchors that a page of Markdown offers, one per heading."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text: str) -> list[tuple[str, str]]:
    """Relative links of a page: (file, anchor), either of which may be empty."""
    targets = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text)
    return [(file, anchor) for file, anchor in targets if not file.startswith("http")]


def blocks(text: str, kind: str) -> list[str]:
    """The fenced blocks of one kind on a page: "python", or "" for commands."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [block for language, block in fenced if language == kind]


def commands(text: str) -> list[list[str]]:
    """The complete `lingvis` commands in the blocks of a page as words, without the remarks beside them."""
    lines = re.sub(r"\\\n\s*", "", "\n".join(blocks(text, ""))).splitlines()
    shown = [re.split(r" {2,}(?=[^ -])| > ", line)[0] for line in map(str.strip, lines)]
    return [shlex.split(line)[1:] for line in shown if re.match(r"lingvis (?!.*(\.\.\. |\[-))", line)]


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "studies.tables.generate", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for file, anchor in links(page.read_text(encoding="utf-8")):
        target = page.parent / file if file else page
        assert target.exists(), file
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{file}#{anchor}"


def test_a_link_to_a_missing_heading_is_noticed() -> None:
    assert anchors("# What `it` is: one, two\n```\n# no heading\n```\n") == {"what-it-is-one-two"}
    assert links("[a](b.md#c) [d](#e) [f](https://g.h#i) ![j](k.png)") == [
        ("b.md", "c"),
        ("", "e"),
        ("k.png", ""),
    ]


def test_the_index_lists_every_page() -> None:
    index = DOCS / "index.md"
    listed = {(DOCS / file).resolve() for file, _ in links(index.read_text(encoding="utf-8"))}
    assert {page for page in DOCS.rglob("*.md") if page != index} <= listed


def test_the_architecture_page_lists_every_stage() -> None:
    listed = re.findall(
        r"^\| `(\w+)/` \|", (DOCS / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    stages = [file.parent.name for file in (ROOT / "src" / "lingvis").glob("*/__init__.py")]
    assert sorted(listed) == sorted(stages)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_every_name_is_documented() -> None:
    documented = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    recipes = (DOCS / "reference" / "recipes.md").read_text(encoding="utf-8")
    for name in recipe_names():
        assert f"| `{name}` |" in recipes, name
    for name in (*POOLERS.names(), *REGISTRIES["objective"].names(), *REGISTRIES["term"].names()):
        assert f"`{name}`" in documented, name
    for name in TRANSLATORS.names():
        assert f"| `{name}` |" in documented, name
    for name in IMPORTERS.names():
        assert f"lingvis data import {name} " in documented, name


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=lambda registry: registry.kind)
def test_every_part_is_documented_as_it_describes_itself(registry: Registry[Any]) -> None:
    page = (DOCS / "reference" / "parts.md").read_text(encoding="utf-8")
    for entry in registry:
        assert f"| `{entry.name}` | {entry.summary} |" in page


def test_commands_are_found_without_their_remarks() -> None:
    lines = [
        "lingvis search c 'a b' \\",
        "    -k 3     the best",
        "lingvis recipes show x > y",
        "lingvis train ... --out x",
    ]
    text = "```python\nlingvis\n```\n```\n" + "\n".join(lines) + "\n```\n"
    assert commands(text) == [["search", "c", "a b", "-k", "3"], ["recipes", "show", "x"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_the_printed_arguments(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        app.parse_args(words, print_error=False, exit_on_error=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_import_names_that_exist(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "python") if page.name != "python.md" else ():
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lingvis"):
                module = importlib.import_module(str(node.module))
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "lingvis"
            ):
                assert node.attr in lingvis.__all__
