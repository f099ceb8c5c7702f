"""Values that pydantic checks: unknown keys are rejected, and errors read as clauses."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lingvis.strict import SHOWN, StrictModel, explain


class Size(StrictModel):
    width: int


class Page(StrictModel):
    size: Size
    title: str = ""


def problems(values: dict[str, Any]) -> list[str]:
    with pytest.raises(ValidationError) as raised:
        Page.model_validate(values)
    return [explain(problem) for problem in raised.value.errors()]


def test_every_problem_names_its_place() -> None:
    assert problems({}) == ["size is missing"]
    assert problems({"size": {"width": 1, "depth": 2}}) == ["unknown key size.depth"]
    (clause,) = problems({"size": {"width": "wide"}})
    assert clause.startswith("size.width: input should be a valid integer") and clause.endswith("got 'wide'")


def test_a_long_value_is_cut() -> None:
    (clause,) = problems({"size": {"width": 1}, "title": ["x" * 100]})
    assert clause.endswith("got " + repr(["x" * 100])[:SHOWN] + "...")


def test_a_place_may_be_named_otherwise() -> None:
    with pytest.raises(ValidationError) as raised:
        Page.model_validate({})
    assert explain(raised.value.errors()[0], where="parameter size") == "parameter size is missing"


def test_records_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Size(width=1).width = 2
