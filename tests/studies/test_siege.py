"""The study of attackers: its clients' percentiles, its criteria, and its costly pictures."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from studies.siege.costly import many_scans
from studies.siege.run import Sample, latencies, problems


def samples(*seconds: float, status: str = "200") -> list[Sample]:
    return [(0.0, "search", each, status) for each in seconds]


def test_rejections_do_not_flatter_the_percentiles() -> None:
    calm = latencies(samples(*([0.1] * 99)))
    mixed = latencies(samples(*([0.1] * 99)) + samples(*([0.001] * 1000), status="429"))
    assert calm["ms"] == mixed["ms"] == {"p50": 100.0, "p95": 100.0, "p99": 100.0}
    assert calm["lost_share"] == 0 and mixed["lost_share"] == pytest.approx(1000 / 1099, abs=1e-4)
    assert mixed["statuses"] == {"200": 99, "429": 1000}


def test_a_request_without_an_answer_counts_with_its_time() -> None:
    stalled = latencies(samples(*([0.1] * 90)) + samples(*([30.0] * 10), status="TimeoutError"))
    assert stalled["ms"]["p95"] == 30_000 and stalled["lost_share"] == 0.1


def test_criteria() -> None:
    fine = {"p95_ratio": 2.9, "source": "other", "attacked": {"lost_share": 0.01}}
    assert list(problems("x", fine)) == []
    assert list(problems("x", {**fine, "p95_ratio": 3.1})) == ["x: p95 is 3.1 times the calm one"]
    lost = {**fine, "attacked": {"lost_share": 0.5}}
    assert list(problems("x", lost)) == ["x: 50.0% of the requests had no result"]
    assert list(problems("x", {**lost, "source": "same"})) == []


def test_a_costly_picture_is_small_and_valid() -> None:
    data = many_scans(5000, (4000, 4000))
    assert len(data) < 2_100_000 and data.count(b"\xff\xda") > 1000
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (4000, 4000)
