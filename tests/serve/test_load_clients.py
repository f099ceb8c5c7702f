"""The clients of the load study ask a real server, and count what it answers."""

from __future__ import annotations

from pathlib import Path

from lingvis.collection.collection import Collection
from lingvis.serve.settings import ServerSettings
from studies.load.clients import THUMBNAILS, ask
from studies.load.run import error_problems, growth_problems

from .conftest import Client, finished, in_thread


def test_clients_search_and_fetch_thumbnails(client: Client) -> None:
    answers, seconds = finished(ask(client.port, 3, 0.5))
    searches, thumbnails = len(answers.seconds["search"]), len(answers.seconds["thumbnail"])
    assert answers.statuses == {"200": searches + thumbnails} and not list(error_problems(answers.errors))
    assert THUMBNAILS * (searches - 3) <= thumbnails <= THUMBNAILS * searches and searches > 3
    assert (
        0.5 <= seconds < 5 and 0 < min(answers.seconds["search"]) <= max(answers.seconds["search"]) < seconds
    )


def test_clients_count_refusals_and_errors(home: Path) -> None:
    collection = Collection.open(home / "photos.lv", device="cpu")
    with in_thread(collection, ServerSettings(token="correct-horse-battery")) as closed:
        answers, _ = finished(ask(closed.port, 2, 0.2))
        assert set(answers.errors) == {"401"} and "x 401" in next(error_problems(answers.errors))
    with in_thread(collection, ServerSettings(requests=4)) as busy:  # one at a time for a client
        answers, _ = finished(ask(busy.port, 6, 0.5))
        assert answers.statuses["429"] and not answers.errors


def test_only_growth_that_matters_is_a_leak() -> None:
    assert not list(growth_problems({"middle": 400.0, "end": 445.0}))
    assert not list(growth_problems({"middle": 1000.0, "end": 1090.0}))
    assert list(growth_problems({"middle": 400.0, "end": 460.0}))
