"""The study of students: teacher and student are trained once and measured in every language."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.model.folder import ModelConfig
from studies.__main__ import main
from studies.records import RUNS, read

from ..conftest import make_rich_dataset


def test_teacher_and_student_are_measured_in_all_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = make_rich_dataset(tmp_path / "data")
    text = ["text.words.dim=16", "text.words.buckets=500", "text.encoder.dim=24", "training.epochs=1"]
    image = ["data.features=toy-grid", "image.encoder.dim=24", "image.encoder.hidden=12", "similarity.dim=8"]
    command = ["distilled-text", str(dataset), *text, "training.sampling.passes=1", "--out", str(tmp_path)]
    command += ["--teacher-overrides", *text, *image, "training.sampling.passes=1", "--protocol", "all"]
    command += ["--keep", str(tmp_path / "runs"), "--device", "cpu"]
    main(command)
    (record,) = read(tmp_path / RUNS)
    assert (record["name"], record["study"], record["split"]) == (
        "distilled_text/0",
        "distilled-text",
        "test",
    )
    assert record["teacher"]["languages"] == ["en"]
    assert record["overrides"]["start.run"] == "teacher-0"
    assert set(record["student"]["mR"]) == set(record["teacher"]["mR"]) == {"en", "de"}
    teacher, student = (ModelConfig.read(tmp_path / "runs" / name) for name in ("teacher-0", "student-0"))
    assert teacher.model.similarity == student.model.similarity
    assert teacher.image_fingerprint == student.image_fingerprint
    assert record["student"]["parameters"] == student.parameters
    capsys.readouterr()
    main([*command, "--seeds", "0"])  # measured already
    assert f"student {record['student']['mR']['de']:.1f}" in capsys.readouterr().out
    assert len(read(tmp_path / RUNS)) == 1
