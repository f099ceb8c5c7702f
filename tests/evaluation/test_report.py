"""Tables, example queries and the page of results."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from lingvis.data.dataset import Dataset
from lingvis.evaluation.evaluate import ScoredPools, measure, score_pools
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.report.examples import Example, ExampleAnswer, Examples, examples
from lingvis.evaluation.report.page import write_page
from lingvis.evaluation.report.table import table
from lingvis.evaluation.result import Report


@pytest.fixture
def scored(dataset: Dataset, hashed: Any) -> ScoredPools:
    return score_pools([hashed()], dataset)


def printed(report: Report) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(table(report))
    return out.getvalue()


def test_the_table_has_a_row_a_language(scored: ScoredPools) -> None:
    report = measure(scored)
    text = printed(report)
    cells = next(line for line in text.splitlines() if line.startswith(" de ")).split()
    german = report.languages["de"]
    assert cells[:4] == ["de", "10", "20", f"{german.i2t['R@1']:.1f}"]
    assert cells[8:] == [f"{german.t2i['R@10']:.1f}", f"{german.mR:.1f}", f"{german.rsum:.1f}"]
    assert "hashed on tiny, split test, protocol all\n" in re.sub(" +", " ", text).replace(" \n", "\n")
    assert f"A {report.A:.1f}; " in text
    assert "HA" not in text


def test_zero_shot_languages_are_marked(dataset: Dataset, hashed: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for languages, marked in ((["en", "de"], True), (["en", "de", "ar"], False)):
        found = score_pools([hashed(languages=languages)], dataset)
        report = measure(found)
        write_page(path, report, examples(found))
        page = read(path).text
        assert ("ar*" in printed(report)) == ("ar*" in page) == marked
        assert ("* zero-shot: " in printed(report)) == ("* zero-shot: " in page) == marked
        assert ("ar zero-shot" in page) == marked
        assert not any(f"{lang}{mark}" in page for lang in ("en", "de") for mark in ("*", " zero-shot"))


def test_the_table_fits_a_terminal_of_80_columns(scored: ScoredPools) -> None:
    report = measure(scored)
    best = {"R@1": 100.0, "R@5": 100.0, "R@10": 100.0}
    traditional = replace(
        report.languages["en"], zero_shot=True, images=5000, captions=25000, i2t=best, t2i=best
    )
    text = printed(replace(report, languages={**report.languages, "zh-Hant": traditional}))
    assert "…" not in text
    assert re.search(r"zh-Hant\* +5,000 +25,000 ", text)
    assert "600.0" in text


def test_examples_have_the_rank_that_was_measured(scored: ScoredPools) -> None:
    found = examples(scored, queries=5).queries
    assert len(found) == 3 * 2 * 5
    checked = set()
    for pool, scorer in zip(scored.pools, scored.scorers, strict=True):
        places = ranks(scorer, pool.image_of)
        for example in (each for each in found if each.lang == pool.lang):
            if example.direction == "t2i":
                number = pool.texts.index(example.query)
                assert example.rank == places.t2i[number] + 1
                assert example.candidates == len(pool.images)
                right = [answer.item == pool.images[pool.image_of[number]] for answer in example.answers]
            else:
                number = pool.images.index(example.query)
                assert example.rank == places.i2t[number] + 1
                own = {text for text, image in zip(pool.texts, pool.image_of, strict=True) if image == number}
                right = [answer.item in own for answer in example.answers]
            assert [answer.right for answer in example.answers] == right
            assert len(example.answers) == 5
            assert [a.score for a in example.answers] == sorted(
                (a.score for a in example.answers), reverse=True
            )
            checked.add(min(example.rank, 6))
    assert {1, 6} <= checked


def test_examples_depend_on_the_seed_alone(scored: ScoredPools) -> None:
    assert examples(scored, seed=3) == examples(scored, seed=3)
    assert examples(scored, seed=3) != examples(scored, seed=4)
    assert len(examples(scored, queries=100).queries) == 24 + 12 + 12 + 12 + 20 + 10


def test_a_tie_puts_the_right_answer_behind(dataset: Dataset, hashed: Any) -> None:
    class Collapsed(hashed):  # type: ignore[misc]
        def encode(self, names: list[str]) -> Any:
            return np.ones((len(names), 8), dtype=np.float32)

        def encode_texts(self, texts: list[str], langs: list[str]) -> Any:
            return self.encode(texts)

    for example in examples(score_pools([Collapsed()], dataset, languages=["en"])).queries:
        assert example.rank == (12 if example.direction == "t2i" else 23)
        assert not any(answer.right for answer in example.answers)


class Reader(HTMLParser):
    """Collects tags with their attributes, and checks that they close in order."""

    EMPTY = ("meta", "img", "line", "br")

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_marks_right_and_wrong_and_asks_for_nothing(scored: ScoredPools, tmp_path: Path) -> None:
    drawn = examples(scored, seed=7)
    found = [*drawn.queries, *(query for each in drawn.same for query in each.queries)]
    path = tmp_path / "out" / "page.html"
    write_page(path, measure(scored), drawn)
    page = read(path)
    marks = [attrs["class"] for tag, attrs in page.tags if tag == "li" and "class" in attrs]
    answers = [answer.right for example in found for answer in example.answers]
    assert marks.count("right") == sum(answers) > 0
    assert marks.count("wrong") == len(answers) - sum(answers) > 0
    sources = [attrs.get("src") or "" for tag, attrs in page.tags if tag == "img"]
    shown = sum(len(each.answers) if each.direction == "t2i" else 1 for each in found)
    assert len(sources) == shown + len(drawn.same)
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    assert not any(tag in ("script", "link", "iframe") for tag, _ in page.tags)
    assert "http" not in re.sub(r'http-equiv="[^"]*"|base64,[^"]*', "", path.read_text(encoding="utf-8"))
    assert "drawn at random (seed 7)" in page.text
    assert sum(tag == "rect" for tag, _ in page.tags) == 3
    assert sum(attrs.get("class") == "chance" for _, attrs in page.tags) == 3
    assert sum(attrs.get("dir") == "auto" for _, attrs in page.tags) == sum(
        1 if each.direction == "t2i" else len(each.answers) for each in found
    )


def test_the_same_question_is_asked_in_all_languages(scored: ScoredPools) -> None:
    found = examples(scored, same=5, seed=1).same
    assert len({each.image for each in found}) == len(found) == 5
    assert found == examples(scored, same=5, seed=1, queries=0).same
    assert [each.image for each in found] != [each.image for each in examples(scored, same=5, seed=2).same]
    for question in found:
        assert int(question.image[:-4]) >= 2  # the others have no sentence in German
        assert question.together is None
        assert [query.lang for query in question.queries] == [pool.lang for pool in scored.pools]
        for query, pool, scorer in zip(question.queries, scored.pools, scored.scorers, strict=True):
            text = pool.texts.index(query.query)
            assert pool.images[pool.image_of[text]] == question.image
            assert query.rank == ranks(scorer, pool.image_of).t2i[text] + 1
            assert [answer.right for answer in query.answers] == [
                answer.item == question.image for answer in query.answers
            ]


def test_the_page_shows_the_same_question_only_where_there_are_languages(
    dataset: Dataset, hashed: Any, tmp_path: Path
) -> None:
    heading = "The same query in all languages"
    path = tmp_path / "page.html"
    for languages, shown in ((["en"], False), (["en", "ar"], True)):
        found = score_pools([hashed()], dataset, languages=languages)
        drawn = examples(found)
        write_page(path, measure(found), drawn)
        page = read(path)
        assert (heading in page.text) == shown
        assert len(drawn.same) == 3 * shown
        asked = sum(attrs.get("class") == "query-in" for _, attrs in page.tags)
        assert asked == 2 * len(drawn.same)
    arabic = drawn.same[0].queries[1]
    assert arabic.lang == "ar"
    right = [attrs for tag, attrs in page.tags if tag == "q" and attrs.get("lang") == "ar"]
    assert len(right) == 4 + 3
    assert all(attrs["dir"] == "auto" for attrs in right)


def test_captions_and_names_cannot_become_markup(scored: ScoredPools, tmp_path: Path) -> None:
    evil = "<script>alert('x')</script> & \"y\""
    report = replace(measure(scored), model=evil, dataset=evil)
    found = (
        Example("en", "t2i", evil, (ExampleAnswer('"><img src=x>.png', 0.5, True),), 1, 12),
        Example("en", "i2t", '"><b>.png', (ExampleAnswer(evil, 0.5, False),), 3, 24),
    )
    path = tmp_path / "page.html"
    write_page(path, report, Examples(found, 0, scored.dataset.images_dir))
    page = read(path)
    assert not any(tag in ("script", "img") for tag, _ in page.tags)
    assert page.text.count(evil) == 6
    assert '"><img src=x>.png' in page.text


def test_a_dataset_without_pictures_gets_names(scored: ScoredPools, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    found = examples(scored, queries=1).queries
    write_page(path, measure(scored), Examples(found, 0, tmp_path / "nowhere"))
    page = read(path)
    assert not any(tag == "img" for tag, _ in page.tags)
    assert found[0].answers[0].item in page.text
