"""`python -m studies`: the list of studies, and the help of each."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from studies.__main__ import main
from studies.catalogue import STUDIES

ROOT = Path(__file__).parents[2]


def test_the_list_has_every_study_and_loads_no_torch() -> None:
    code = "import sys; from studies.__main__ import main; main([]); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, study in STUDIES.items():
        assert any(line.split(maxsplit=1) == [name, study.summary] for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_help_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: python -m studies {name}")
    assert (
        f"python -m studies {name} " in printed.split("\n", 1)[1] or f"python -m studies {name}\n" in printed
    )


def test_an_unknown_study_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sparce"])
    assert ended.value.code == 2
    assert "there is no study 'sparce'; choose one of: " in capsys.readouterr().err


def test_every_module_with_a_command_is_a_study() -> None:
    modules = {study.module for study in STUDIES.values()}
    for file in (ROOT / "studies").rglob("*.py"):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        if file.name != "__main__.py" and "def main(" in file.read_text(encoding="utf-8"):
            assert name in modules
    for module in modules:
        assert callable(importlib.import_module(module).main)
