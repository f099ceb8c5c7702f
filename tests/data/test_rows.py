from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lingvis.data.rows import Region, Row, Translation, named_image, parse_row


def problems_of(**changes: object) -> list[str]:
    row: dict[str, object] = {"image": "a.jpg", "split": "train", "captions": {"en": ["A dog."]}}
    row.update(changes)
    parsed, problems = parse_row(json.dumps(row))
    assert (parsed is None) == bool(problems)
    return problems


def test_a_full_row_survives_the_way_to_disk_and_back() -> None:
    row = Row(
        image="folder/ä.jpg",
        split="val",
        captions={"en": ("A dog.", "A dog."), "zh-Hant": ("一隻狗",), "es-419": ()},
        parallel={"en": "A dog.", "de": "Ein Hund."},
        translated={"fr": {"en": Translation(translator="argos", captions=("Un chien.",))}},
        regions=(Region(box=(0.0, 1.0, 2.5, 3.0), label="dog", score=0.5),),
    )
    assert parse_row(row.to_json()) == (row, [])
    assert "一隻狗" in row.to_json()
    assert "\n" not in row.to_json()


def test_empty_optional_keys_are_not_written() -> None:
    row = Row(image="a.jpg", split="test")
    assert json.loads(row.to_json()) == {"image": "a.jpg", "split": "test", "captions": {}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"image": 5}, "image: input should be a valid string, got 5"),
        ({"image": "../a.jpg"}, "bad image name '../a.jpg'"),
        ({"image": "/a.jpg"}, "bad image name"),
        ({"image": "./a.jpg"}, "bad image name"),
        ({"image": "b//a.jpg"}, "bad image name"),
        ({"image": "b\\a.jpg"}, "bad image name"),
        ({"image": ""}, "bad image name"),
        ({"split": "dev"}, "unknown split 'dev'; allowed: train, val, test"),
        ({"split": None}, "unknown split None"),
        ({"captions": {"EN": ["A dog."]}}, "bad language code 'EN'"),
        ({"captions": {"english": ["A dog."]}}, "bad language code 'english'"),
        ({"captions": {"en": "A dog."}}, "captions.en: input should be a valid array, got 'A dog.'"),
        ({"captions": {"en": [" \t"]}}, "captions.en.0: empty caption"),
        ({"captions": {"en": ["A dog.", 7]}}, "captions.en.1: input should be a valid string, got 7"),
        ({"captions": None}, "captions: "),
        ({"parallel": {"de": ""}}, "parallel.de: empty caption"),
        ({"parallel": {"d": "Hund"}}, "bad language code 'd'"),
        ({"regions": [{"box": [1, 2, 3]}]}, "key 'regions.0.box.3' is missing"),
        ({"regions": [{"box": [3, 2, 1, 4]}]}, "box [3.0, 2.0, 1.0, 4.0] is empty"),
        ({"regions": [{"box": [1, 2, 3, float("nan")]}]}, "finite"),
        (
            {"regions": [{"box": [1, 2, 3, 4], "name": "dog"}]},
            "unknown key 'regions.0.name'; allowed: box, label",
        ),
        ({"translated": {"d": {}}}, "bad language code 'd'"),
        (
            {"translated": {"de": {"en": {"by": "x", "translator": "x", "captions": ["Hund"]}}}},
            "unknown key 'translated.de.en.by'; allowed: translator, captions",
        ),
        (
            {"translated": {"de": {"en": {"translator": "x", "captions": [""]}}}},
            "translated.de.en.captions.0: empty caption",
        ),
        (
            {"caption": {}},
            "unknown key 'caption'; allowed: image, split, captions, parallel, translated, regions",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_place(changes: dict[str, object], expected: str) -> None:
    problems = problems_of(**changes)
    assert len(problems) == 1
    assert expected in problems[0]


def test_every_problem_of_a_row_is_reported_at_once() -> None:
    line = '{"split": "x", "captions": {"EN": ["", 3]}, "extra": 1}'
    _, problems = parse_row(line)
    assert len(problems) == 6
    text = " | ".join(problems)
    for part in ("key 'image' is missing", "unknown split 'x'", "'EN'", "empty caption", "got 3", "'extra'"):
        assert part in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"image": "a.jpg", ', "bad JSON: "),
        ("[1, 2]", "expected an object like"),
        ("null", "got NoneType"),
        ("[" * 100_000, "bad JSON: too many nested brackets"),
        ('{"image": "\\ud800", "split": "train"}', "bad JSON: "),
        pytest.param(
            '{"image": ' + "1" * 5000 + "}", "bad JSON: a number with too many digits", id="many digits"
        ),
    ],
)
def test_what_is_no_row_is_one_problem(line: str, expected: str) -> None:
    row, problems = parse_row(line)
    assert row is None
    assert len(problems) == 1
    assert expected in problems[0]


def test_a_faulty_line_still_names_its_image() -> None:
    assert named_image('{"image": "a.jpg", "split": 3}') == "a.jpg"
    assert named_image('{"image": 3}') is None
    assert named_image("[") is None
    assert named_image("1" * 5000) is None
    assert named_image("[" * 100_000) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


# The machine may be busy: the time a case takes is not what is tested.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(["image", "split", "captions", "parallel", "regions", "x"]), json_values)
)
@example({"captions": {"\n": None}})
def test_no_json_object_crashes_the_parser(value: dict[str, object]) -> None:
    row, problems = parse_row(json.dumps(value))
    assert (row is None) == bool(problems)
    assert all(problem.strip() == problem and "\n" not in problem for problem in problems)
