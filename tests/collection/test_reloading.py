"""When rows in memory are loaded again."""

from __future__ import annotations

import pytest

from lingvis.collection.stores.exact import Reloading


@pytest.mark.parametrize(("took", "pause"), [(0.05, 0.0), (0.5, 4.5)])
def test_a_slow_load_is_repeated_after_a_pause_and_a_quick_one_at_once(
    took: float, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, current = [100.0], [1]
    monkeypatch.setattr("lingvis.collection.stores.exact.time.monotonic", lambda: now[0])
    held: Reloading[str] = Reloading()

    def load() -> tuple[int, str]:
        now[0] += took
        return current[0], f"rows {current[0]}"

    def get() -> str:
        return held.get("embedding", current[0], load)

    assert get() == "rows 1"
    current[0] = 2
    if pause:
        assert get() == "rows 1"
        now[0] += pause - 0.1
        assert get() == "rows 1"
        now[0] += 0.2
    assert get() == "rows 2"
    loaded = now[0]
    assert get() == "rows 2" and now[0] == loaded
