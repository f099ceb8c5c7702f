"""Records as lines of a file: appended side by side, read after a kill, complete without the recipe's file."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lingvis.errors import UserError
from studies.recipe_values import RECIPES, describe, keep_shipped, resolved, values_of
from studies.records import RUNS, agrees, append, check_writable, find, read

ROOT = Path(__file__).parents[2]


def test_records_come_back_in_order_and_a_later_line_replaces_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "below" / RUNS
    assert read(file) == []
    for record in ({"name": "a", "mR": 1.5}, {"name": "b", "text": "é\n"}, {"name": "a", "mR": 2.0}):
        append(file, record)
    assert len(file.read_text().splitlines()) == 3
    assert read(file) == [{"name": "a", "mR": 2.0}, {"name": "b", "text": "é\n"}]
    assert find(file, "b") == {"name": "b", "text": "é\n"}
    assert find(file, "c") is None


def test_a_kill_loses_at_most_the_line_that_was_being_written(tmp_path: Path) -> None:
    file = tmp_path / RUNS
    append(file, {"name": "a", "mR": 1.0})
    whole = file.read_text()
    line = json.dumps({"name": "b", "mR": 2.0})
    for written in range(1, len(line) + 1):
        file.write_text(whole + line[:written])
        assert [record["name"] for record in read(file)] == ["a"]
    append(file, {"name": "c"})
    assert [record["name"] for record in read(file)] == ["a", "c"]
    assert file.read_text() == whole + '{"name": "c"}\n'


def test_processes_append_without_mixing_their_lines(tmp_path: Path) -> None:
    file = tmp_path / RUNS
    code = (
        "import sys; from pathlib import Path; from studies.records import append\n"
        "for number in range(50): append(Path(sys.argv[1]), {'name': sys.argv[2] + str(number), 'x': 'y' * 9000})"
    )
    with ThreadPoolExecutor(2) as pool:
        command = [sys.executable, "-c", code, str(file)]
        done = pool.map(lambda name: subprocess.run([*command, name], cwd=ROOT, check=True), ("a", "b"))
        list(done)
    assert len(read(file)) == 100


def test_a_damaged_line_is_reported_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / RUNS
    for damage in ("{", "[]", '{"mR": 1}'):
        file.write_text('{"name": "a"}\n' + damage + "\n")
        with pytest.raises(UserError, match=r"runs.jsonl, line 2, is no record .*; delete this line"):
            read(file)


def test_a_number_that_json_does_not_have_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        append(tmp_path / RUNS, {"name": "a", "mR": float("nan")})
    assert not (tmp_path / RUNS).exists()


def test_a_folder_is_made_and_checked_before_anything_is_measured(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "out")
    assert list((tmp_path / "new" / "out").iterdir()) == []
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=r"cannot write to .*file.* choose another out folder"):
            check_writable(place)


def test_conditions_are_compared_by_their_own_keys() -> None:
    record = {"name": "a", "seed": 1, "split": "test", "mR": 3.0}
    assert agrees(record, {"seed": 1, "split": "test"})
    assert not agrees(record, {"seed": 2})
    assert not agrees(record, {"lang": "en"})


def test_a_record_has_the_overrides_and_gives_back_all_values(tmp_path: Path) -> None:
    factors = 'optimizer.factors={"text.words.vectors" = 0.0, "image" = 0.5}'
    values = resolved("vsepp", ["training.seed=3", "image.pooling.name=mean", factors])
    del values["data"]["per_image"]
    del values["start"]
    described = describe("vsepp", values)
    assert described["recipe"] == "vsepp"
    assert described["overrides"]["training.seed"] == 3
    assert described["overrides"]['optimizer.factors."text.words.vectors"'] == 0.0
    assert "training.epochs" not in described["overrides"]
    assert "data.per_image" in described["without"]
    with pytest.raises(UserError, match=r"shipped recipe of record a is not in .*recipes.jsonl"):
        values_of({"name": "a", **described}, tmp_path)
    for _ in range(2):
        keep_shipped(tmp_path, "vsepp")
    assert len(read(tmp_path / RECIPES)) == 1
    assert values_of({"name": "a", **described}, tmp_path) == values
    assert "without" not in describe("vsepp", resolved("vsepp"))


def test_every_record_of_the_repository_is_readable_and_complete() -> None:
    files = sorted((ROOT / "results").rglob(RUNS))
    assert len(files) > 10
    for file in files:
        for record in read(file):
            assert {"name", "study"} <= record.keys()
            if "base" in record:
                assert values_of(record, file.parent)["name"] == record["recipe"]
