"""Run cases of each kind and judge the answers: an Outcome per case, a fault never stops the others."""

from __future__ import annotations

import http.client
import json
import queue
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from studies.fuzz.outcome import Outcome, Verdict
from studies.fuzz.pictures import originals, picture_case
from studies.fuzz.requests import HEADS, PARAMETERS, RequestCase, head_case, parameter_case, upload_case
from studies.fuzz.target import Server, Target, index, serving

ROOT = Path(__file__).parents[2]
CASE_SECONDS = 30.0  # of one case in a worker; a slow machine needs a fraction of a second
START_SECONDS = 120.0
ANSWER_SECONDS = 10.0
HEALTH_SECONDS = 1.0
CASES_PER_HEALTH = 20


def run_in_worker(kind: str, target: Target, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Run cases in a process; one that dies or hangs is a fault, and the next case gets a new process."""
    end = first + count
    while first < end:
        for outcome in _one_worker(kind, target, seed, first, end - first):
            yield outcome
            first = outcome.number + 1


def _one_worker(kind: str, target: Target, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Outcomes of cases until one stops the process."""
    arguments = [kind, str(seed), str(first), str(count), str(target.folder)]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "studies.fuzz.worker", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
        ) as worker,
    ):
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_forward, args=(worker, lines), daemon=True).start()
        number, about, allowed = first, "start of the worker", START_SECONDS
        try:
            for _ in range(2 * count):  # each case has two lines
                line = lines.get(timeout=allowed)
                values = json.loads(line) if line else {}
                allowed = CASE_SECONDS
                if "verdict" in values:
                    yield Outcome(kind, seed, about=about, **values)
                elif line:
                    number, about = values["number"], values["about"]
                else:
                    errors.seek(0)
                    detail = f"the process died: {errors.read()[-500:]}"
                    yield Outcome(kind, seed, number, about, "fault", detail)
                    return
        except queue.Empty:
            yield Outcome(kind, seed, number, about, "fault", f"no result within {allowed:.0f} s", allowed)
        finally:
            worker.kill()


def _forward(worker: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Put lines of a process into a queue, and an empty one at its end."""
    assert worker.stdout is not None
    for line in worker.stdout:
        lines.put(line)
    lines.put("")


def run_requests(
    kind: str, server: Server, cases: Callable[[int], RequestCase], seed: int, first: int, count: int
) -> Iterator[Outcome]:
    """Send each case on a connection of its own, and ask for the health of the server in between."""
    for number in range(first, first + count):
        case = cases(number)
        began = time.perf_counter()
        fault, status = _judge(server, case)
        seconds = round(time.perf_counter() - began, 4)
        if not fault and number % CASES_PER_HEALTH == 0:
            fault = _unhealthy(server)
        verdict: Verdict = "fault" if fault else "accepted" if 200 <= status < 300 else "rejected"
        yield Outcome(kind, seed, number, case.about, verdict, fault or str(status), seconds)


def _judge(server: Server, case: RequestCase) -> tuple[str, int]:
    """The fault of an answer, empty if there is none, and its status, 0 if there was no answer."""
    try:
        status, body = _send(server.port, case.data, end=not case.complete)
    except TimeoutError:
        return f"no answer within {ANSWER_SECONDS:.0f} s", 0
    except (OSError, http.client.HTTPException) as error:
        # A refusal may arrive while the rest of a long request is still being sent.
        return (f"no answer: {error!r}" if case.complete and len(case.data) < 50_000 else ""), 0
    if status >= 500:
        return f"status {status}: {body[:200]!r}", status
    if status >= 400 and not case.data.startswith(b"HEAD"):
        try:
            sentence = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            return f"status {status} without an error in JSON: {body[:200]!r}", status
        if not isinstance(sentence, str) or not sentence.isprintable() or "Traceback" in sentence:
            return f"status {status} with an error that is not one line: {sentence!r}", status
    return "", status


def _send(port: int, data: bytes, *, end: bool = False) -> tuple[int, bytes]:
    """Status and body of the answer; end: close our side, since the server would wait for more."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read()


def _unhealthy(server: Server) -> str:
    began = time.perf_counter()
    try:
        status, _ = _send(server.port, b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    except (OSError, http.client.HTTPException) as error:
        return f"/api/health does not answer afterwards: {error!r}"
    seconds = time.perf_counter() - began
    return (
        "" if status == 200 and seconds < HEALTH_SECONDS else f"/api/health: {status} after {seconds:.1f} s"
    )


def run_uploads(server: Server, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Search with damaged pictures."""
    return run_requests(
        "uploads", server, lambda number: upload_case(*picture_case(seed, number)), seed, first, count
    )


def run_parameters(server: Server, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Odd parameters, forms and sessions."""
    return run_requests(
        PARAMETERS, server, lambda number: parameter_case(seed, number, server.id), seed, first, count
    )


def run_heads(server: Server, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Odd request lines and headers."""
    return run_requests(HEADS, server, lambda number: head_case(seed, number, server.id), seed, first, count)


def run_indexing(target: Target, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Index a folder of damaged pictures beside a whole one; all cases are one outcome."""
    folder, collection = target.folder / "mutants", target.folder / "mutants.lv"
    for place in (folder, collection):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir()
    for number in range(first, first + count):
        name, data = picture_case(seed, number)
        (folder / f"{number}.{name.partition('-')[0]}").write_bytes(data)
    (folder / "whole.png").write_bytes(originals()["png"])
    began = time.perf_counter()
    try:
        done = index(collection, folder, target.model)
    except subprocess.TimeoutExpired as error:
        fault = f"lingvis index did not end within {error.timeout:.0f} s"
    else:
        fault = ""
        if done.returncode or "Traceback" in done.stderr:
            fault = f"lingvis index ended with code {done.returncode}: {done.stderr[-500:]}"
        elif not json.loads(done.stdout)["pictures"]:
            fault = "the whole picture is not in the collection"
    seconds = round(time.perf_counter() - began, 4)
    about = f"{count} files from case {first} on"
    yield Outcome("indexing", seed, first, about, "fault" if fault else "accepted", fault, seconds)


def run_kind(kind: str, target: Target, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Run cases of any kind; those that need a server get one of their own."""
    if kind in ON_SERVER:
        with serving(target) as server:
            yield from ON_SERVER[kind](server, seed, first, count)
    elif kind == "indexing":
        yield from run_indexing(target, seed, first, count)
    else:
        yield from run_in_worker(kind, target, seed, first, count)


ON_SERVER = {"uploads": run_uploads, "parameters": run_parameters, "heads": run_heads}
KINDS = ("pictures", "uploads", "indexing", "parameters", "heads", "models")
