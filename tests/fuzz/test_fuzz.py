"""About a minute of the study `fuzz`: seeded cases of every kind, none of which may crash, hang or end in a traceback.

A failure prints the command that replays its case.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studies.fuzz.checks import ON_SERVER, run_in_worker, run_indexing
from studies.fuzz.outcome import Outcome
from studies.fuzz.pictures import originals, picture_case
from studies.fuzz.requests import head_case, parameter_case
from studies.fuzz.target import Server, Target, make_target, serving

SEED = 0
FAULTS_SHOWN = 5


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return make_target(tmp_path_factory.mktemp("fuzz"))


@pytest.fixture(scope="module")
def server(target: Target) -> Iterator[Server]:
    with serving(target) as server:
        yield server


def check(outcomes: Iterator[Outcome], *, rejected: int, accepted: int = 1) -> None:
    """No case is a fault, and enough are rejected and accepted to show that they reach the code."""
    faults, verdicts = [], []
    for outcome in outcomes:
        verdicts.append(outcome.verdict)
        if outcome.verdict == "fault":
            faults.append(str(outcome))
            if len(faults) == FAULTS_SHOWN:
                break
    assert not faults, "\n".join(faults)
    assert verdicts.count("rejected") >= rejected and verdicts.count("accepted") >= accepted


def test_pictures(target: Target) -> None:
    check(run_in_worker("pictures", target, SEED, 0, 500), rejected=250, accepted=50)


def test_model_folders(target: Target) -> None:
    check(run_in_worker("models", target, SEED, 0, 40), rejected=15)


def test_indexing(target: Target) -> None:
    check(run_indexing(target, SEED, 0, 66), rejected=0)


@pytest.mark.parametrize(
    ("kind", "cases", "rejected"), [("uploads", 66, 20), ("parameters", 300, 90), ("heads", 1000, 300)]
)
def test_requests(server: Server, kind: str, cases: int, rejected: int) -> None:
    before = server.log.read_text()
    check(ON_SERVER[kind](server, SEED, 0, cases), rejected=rejected, accepted=10)
    logged = server.log.read_text().removeprefix(before)
    assert "Traceback" not in logged and "forged" not in logged.replace("%0Alingvis", ""), logged[-2000:]


def test_a_seed_gives_the_same_cases() -> None:
    assert picture_case(1, 7) == picture_case(1, 7) != picture_case(2, 7)
    assert parameter_case(1, 7, "a") == parameter_case(1, 7, "a") != parameter_case(2, 7, "a")
    assert head_case(1, 7, "a") == head_case(1, 7, "a") != head_case(2, 7, "a")


def test_every_format_is_damaged() -> None:
    names = [picture_case(SEED, number)[0] for number in range(len(originals()))]
    assert {"jpeg", "png", "webp", "gif", "bmp", "tiff", "avif"} <= set(names) == set(originals())


def test_an_outcome_says_how_to_replay_it() -> None:
    outcome = Outcome("heads", 3, 17, "GET /", "fault", "status 500")
    assert str(outcome).endswith("replay: python -m studies fuzz --kinds heads --seed 3 --only 17")
