"""The generated reference pages name everything that is public."""

from __future__ import annotations

import lingvis
from lingvis.cli.app import app
from studies.tables.reference.api import python_reference
from studies.tables.reference.command_help import command_words


def test_the_python_page_has_every_public_name_with_its_signature_and_docstring() -> None:
    page = python_reference()
    for name in set(lingvis.__all__) - {"__version__"}:
        assert f"## lingvis.{name}\n" in page, name
    signature = (
        "Collection.similar(id: str, *, k: int = 10, offset: int = 0, where: Filter = Filter()) -> Hits"
    )
    assert f"```python\n{signature}\n```" in page
    assert (
        "lingvis.evaluate(\n    model: OpenedModel | Path | str | Sequence[OpenedModel | Path | str],\n"
        in page
    )
    assert "    protocol: str = 'all',\n" in page
    assert "\nMeasure recalls in both directions for every language;" in page


def test_results_are_described_with_their_fields() -> None:
    page = python_reference()
    results = page[page.index("\n## Types\n") :]
    assert "### Report\n" in results and "### Suggestions\n" in results and "## lingvis.Hit\n" in page
    assert "    languages: Mapping[str, LanguageScores],\n" in results
    assert "    broken: dict[str, str] = {},\n" in results
    assert "    folder: str | None = None,\n" in page[page.index("## lingvis.Filter\n") :]
    assert "    features: Features,\n" in results[results.index("### ModelConfig\n") :]
    assert "### Tokenizer\n" not in results
    assert "LanguageScores.mR: float\n```\n\nThe mean of the six recalls.\n" in results


def test_the_walk_finds_every_command_once() -> None:
    found = [" ".join(words) for words in command_words(app)]
    assert found[0] == "" and len(found) == len(set(found))
    assert {"demo", "data import", "vectors show", "train", "evaluate", "add-language", "serve"} <= set(found)
    assert "data" not in found and not any("-h" in words.split() for words in found)
