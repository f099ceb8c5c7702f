"""Costly work by turns of the clients."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lingvis.serve.limits.turns import ClientTurns

from .conftest import finished


def request_of(client: str) -> Request:
    return Request({"type": "http", "headers": [], "client": (client, 1)})


def test_nobody_waits_for_all_requests_of_another() -> None:
    order = []

    async def work(turns: ClientTurns, client: str, gate: asyncio.Event) -> None:
        async with turns.held(request_of(client)):
            await gate.wait()
            order.append(client)
            await asyncio.sleep(0)

    async def run() -> None:
        turns, gate = ClientTurns(2, seconds=30), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for client in ("10.0.0.1",) * 6 + ("10.0.0.2",) * 2 + ("10.0.0.3",):
                group.create_task(work(turns, client, gate))
                await asyncio.sleep(0)
            gate.set()
        async with turns.held(request_of("10.0.0.4")), turns.held(request_of("10.0.0.4")):
            pass  # all turns were given back

    finished(run())
    assert order[:2] == ["10.0.0.1"] * 2, "the first two had no company"
    assert set(order[2:4]) == {"10.0.0.2", "10.0.0.3"}, "then those that had none"
    assert sorted(order[4:]) == ["10.0.0.1"] * 4 + ["10.0.0.2"]


def test_a_wait_has_an_end() -> None:
    async def run() -> None:
        turns = ClientTurns(1, seconds=0.05)
        async with turns.held(request_of("10.0.0.1")):
            with pytest.raises(HTTPException, match="within") as error:
                async with turns.held(request_of("10.0.0.2")):
                    pass
            assert error.value.status_code == 503
        async with turns.held(request_of("10.0.0.2")):
            pass

    finished(run())
