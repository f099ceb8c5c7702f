"""Nothing that lingvis prints holds control characters of a name, on any way to a terminal."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.cli.output import print_json, print_table
from lingvis.errors import UserError
from lingvis.printing import print_line, print_lines, printable
from lingvis.progress import ProgressBar, note

SOURCE = Path(__file__).parent.parent / "src" / "lingvis"
NASTY = "a\x1b[2J\x07\r\nlingvis: all is well\t\x7f\x9b31m\u2028\u202egpj.exe\u2069[red]b[/x]"
TAME = "a\\x1b[2J\\x07\\r\\nlingvis: all is well\\t\\x7f\\x9b31m\\u2028\\u202egpj.exe\\u2069[red]b[/x]"
ALLOWED = {"printing.py", "cli/output.py"}


def test_control_characters_become_visible_and_other_text_stays() -> None:
    assert printable(NASTY) == TAME
    for text in ("ein Hund, 犬, كلب, 🐕 é\u200d\u200f", "C:\\x1b"):
        assert printable(text) == text
    assert printable("\udcff.jpg") == "\\udcff.jpg"  # a name that is not UTF-8 would stop print()


def test_lines_and_notes_are_single_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(NASTY)
    print_lines("one\ttwo\x1b\nthree")
    note(NASTY)
    assert capsys.readouterr() == (f"{TAME}\none\ttwo\\x1b\nthree\n", f"note: {TAME}\n")


def test_progress_is_a_single_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lingvis.progress.SECONDS_BETWEEN_LINES", 0.0)
    with ProgressBar("work", 2) as bar:
        bar.advance(1, NASTY)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.endswith(f"s left, {TAME}") for line in lines)


def test_tables_have_neither_control_characters_nor_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    print_table(NASTY, ["name", "number"], [[NASTY, 1.25]])
    out = capsys.readouterr().out
    assert out.count(TAME) == 2 and "1.2" in out
    assert set(printable(out.replace("\n", ""))) == set(out.replace("\n", ""))


def test_json_is_escaped_and_still_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"path": NASTY, "name": "犬 \udcff", NASTY: [1]}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value and "犬" in out
    assert printable(out.replace("\n", "")) == out.replace("\n", "")


def test_an_error_is_one_line_and_its_problems_one_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["data", "show", str(tmp_path / NASTY.replace("/", ""))])
    assert capsys.readouterr().err.count("\n") == 1
    (tmp_path / "images").mkdir()
    rows = [json.dumps({"image": NASTY.replace("/", ""), "split": "train", NASTY: 1}) for _ in range(2)]
    (tmp_path / "captions.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(SystemExit):
        main(["data", "show", str(tmp_path)])
    head, *problems = capsys.readouterr().err.splitlines()
    assert head.startswith("lingvis: ") and head.endswith("fix these lines and try again:")
    assert problems and all(line.startswith("  ") and printable(line) == line for line in problems)
    with pytest.raises(SystemExit):
        main([NASTY])
    assert capsys.readouterr().err.count("\n") == 1
    assert str(UserError("two:", ["a", "b"])) == "two:\n  a\n  b"


def test_nothing_else_prints() -> None:
    """A new print() would be a new way to the terminal."""
    calls = {
        (file.relative_to(SOURCE).as_posix(), node.lineno)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "print")
            or ast.unparse(node.func) in ("sys.stdout.write", "sys.stderr.write")
        )
    }
    assert {(file, line) for file, line in calls if file not in ALLOWED} == set()
