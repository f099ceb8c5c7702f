"""Plain English: phrases that were replaced once and must not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/**/*.md",
    "src/**/*.py",
    "src/**/*.toml",
    "src/**/texts/en.json",
    "studies/**/*.py",
)
# Made from docstrings, which are checked where they are written.
GENERATED = ("docs/reference/cli.md", "docs/reference/python.md")

# phrase -> a better one
PHRASES = {
    r"\bg(?:o|oes|oing|one) on with\b": "resume, continue with",
    r"\btold\b": "reported, detected, distinguished",
    r"\bso many\b": "N, this number of",
    r"\bone a (?!time\b)": "one per",
    r"\bput(?:s|ting)? (?:\w+ ){0,2}away\b": "withhold",
    r"\bwhoever\b": "everyone who",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\baloud\b": "with a warning",
    r"\bbears repetition\b": "is idempotent",
    r"\bha(?:s|ve) not the\b": "lacks",
    r"\bcannot be gone\b": "cannot be resumed",
    r"\bshall\b": "should, will",
    r"\banew\b": "again",
    r"\bunasked\b": "without confirmation",
    r"\blikewise\b": "also, in the same way",
    r"\brows on end\b": "consecutive rows",
    r"\bthose there are\b": "the existing ones",
    r"\basked with\b": "searched with, used as a query",
    r"\bbe had\b": "be available",
    r"\bturned round\b": "reversed",
    r"\b(?:its|their) like\b": "similar ones",
    r"\bpeople's captions\b": "human captions",
    r"(?<!pseudo\s)\bcaptions (?:by|of) detectors\b": "pseudo captions",
    r'"""What\b': "a docstring says what a function returns or does",
    r"\bit knows\b": "it was trained on, it has",
    r"\bon end\b": "consecutive",
    r"\bto the bit\b": "bitwise",
    r"\bsays why\b": "the message is the reason",
    r"\bwhat is stored about\b": "the record of",
    r"\bgiven up\b": "abandoned",
    r"\b(?:made|done) in another way\b": "with other options",
    r"\btak(?:e|es|en|ing) over\b": "store, use",
    r"\bdelete that\b": "delete the, delete it",
    r"\bfor ever\b": "forever",
}
COUNTED = (
    r"(?:\d[\d,]*(?:\.\d+)?|one|two|three|four|five|ten|many|ms|[KMG]B|bytes?|seconds|minutes|hours|dollars|vectors?|captions?"
    r"|sentences?|models?|lines?|process|workers?|pairs?|values?|pass|passes|quer(?:y|ies)|searches|answers|rows?"
    r"|pictures|images|tokens?|words|layers?|weights?|files?|folders?|records?|runs|steps|epochs)"
)
UNIT = (
    r"(?:picture|image|step|language|sentence|row|line|batch|epoch|word|query|run|core|second|minute|month|box|scene"
    r"|thing|kind|side|token|region|cell|pair|question|machine|file|seed|caption|recipe|worker)"
)
RATE = rf"\b{COUNTED} an? {UNIT}\b"


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, phrase and advice of everything in a text that is not plain; generated tables are skipped."""
    text = re.sub(
        r"<!-- ((?:results|parts):[\w-]+) -->.*?<!-- /\1 -->",
        lambda block: "\n" * block[0].count("\n"),
        text,
        flags=re.DOTALL,
    )
    for pattern, advice in {**PHRASES, RATE: "per"}.items():
        spaced = pattern.replace(" ", r"\s+(?:#\s+)?")  # a phrase may run over the end of a line
        for match in re.finditer(spaced, text, flags=re.IGNORECASE):
            yield text.count("\n", 0, match.start()) + 1, match[0], advice


def checked_files() -> list[Path]:
    """Every file whose text is checked."""
    files = {file for pattern in TEXTS for file in ROOT.glob(pattern)}
    skipped = [ROOT / name for name in GENERATED]
    return sorted(file for file in files if not any(file.is_relative_to(name) for name in skipped))


def test_no_phrase_has_come_back() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {phrase!r}, better: {advice}"
        for file in checked_files()
        for line, phrase, advice in findings(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "one vector a picture",
        "41 ms a step",
        "one\n    a line",
        "a run that cannot be gone on with",
        "the language is told by its script",
        "Whoever reads and embeds.",
        "3.5 a picture",
        '"""What a collection knows."""',
        "the same to the bit",
        "features that were made in another way",
        "seven steps on end",
    ],
)
def test_the_old_way_is_noticed(text: str) -> None:
    assert list(findings(text))


@pytest.mark.parametrize(
    "text",
    [
        "one vector per picture",
        "one at a time",
        "give a picture a caption",
        "compare a sentence",
        "recommended",
        "<!-- results:speed -->\n41 ms a step\n<!-- /results:speed -->",
    ],
)
def test_plain_text_passes(text: str) -> None:
    assert not list(findings(text))


def test_a_finding_names_its_line() -> None:
    text = "<!-- results:a -->\n\n\n<!-- /results:a -->\nfine\nso many\n"
    assert [(line, phrase) for line, phrase, _ in findings(text)] == [(6, "so many")]
