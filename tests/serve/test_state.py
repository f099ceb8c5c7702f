"""The database that the processes of a server share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from lingvis.serve.workers.state import SharedState, create_state

AT_ONCE, ROUNDS = 8, 20


def test_all_workers_may_open_it_at_once(tmp_path: Path) -> None:
    barrier = Barrier(AT_ONCE)

    def counted(folder: Path) -> None:
        barrier.wait()
        state = SharedState(folder)
        with state.changing():
            state.ask(
                "INSERT INTO windows VALUES ('all', 0, 1) ON CONFLICT (name) DO UPDATE SET total = total + 1"
            )
        state.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(ROUNDS):
            folder = tmp_path / str(number)
            folder.mkdir()
            create_state(folder)
            list(pool.map(counted, [folder] * AT_ONCE))
            state = SharedState(folder)
            assert state.ask("SELECT total FROM windows") == [(AT_ONCE,)]
            assert state.ask("PRAGMA journal_mode") == [("wal",)]
            state.close()
