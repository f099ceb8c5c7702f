"""Pictures of the study of routes are drawn apart, and its table marks the chosen and the best route."""

from __future__ import annotations

from pathlib import Path

from lingvis.data.rows import Row
from studies.records import RUNS, append
from studies.tables.results.records import Results
from studies.tables.results.transfer import route_choice
from studies.transfer.route_choice import draw

ROWS = [
    Row(image=f"{n}.jpg", split="test", captions={"en": (f"a thing {n}",)}, parallel={"es": f"una cosa {n}"})
    for n in range(30)
]


def test_pictures_are_drawn_apart() -> None:
    learn, unseen = draw(ROWS, "es", "en", captioned=5, described=15, seed=0)
    assert len(learn) == 20 and len(unseen) == 10
    assert {row.image for row in learn}.isdisjoint(row.image for row in unseen)
    assert [bool(row.captions.get("es")) for row in learn] == [True] * 5 + [False] * 15
    number = learn[0].image.removesuffix(".jpg")
    assert learn[0].captions == {"en": (f"a thing {number}",), "es": (f"una cosa {number}",)}
    assert {row.split for row in learn} == {"train"} and not any(row.parallel for row in learn)


def test_the_table_marks_the_chosen_and_the_best_route(tmp_path: Path) -> None:
    routes = [
        {"route": "mapped", "reason": "too few words"},
        {"route": "both", "mR": 52.5, "spread": 3.84, "seconds": 15.0, "unseen": 30.94},
        {"route": "glossed", "mR": 52.0, "spread": 3.7, "seconds": 19.0, "unseen": 33.7},
    ]
    run = {
        "seed": 1,
        "chosen": "both",
        "routes": routes,
        "sentences": 125,
        "pool": 425,
        "unseen": 504,
        "zero_shot": 1.0,
        "seconds_to_choose": 90.0,
    }
    append(tmp_path / "route-choice" / RUNS, {"name": "uk", "lang": "uk", "runs": [run]})
    table = route_choice(Results(tmp_path))
    assert "| uk | 1 | both (chosen) | 52.5 ± 3.8 | 30.9 | 15 |" in table
    assert "| uk | 1 | glossed (best) | 52.0 ± 3.7 | 33.7 | 19 |" in table and "mapped" not in table
    assert "30.9 by the chosen route, 33.7 by the best one" in table
