"""One search from the command line in a process of its own: seconds and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lingvis.errors import UserError

# A small process starts the search: the memory of a process counts that of its parent at the start.
MEASURE = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = time.perf_counter() - began
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True, slots=True)
class ColdSearch:
    """The quickest of several processes: seconds from start to end, seconds of the processor, and most memory in MB."""

    seconds: float
    cpu_seconds: float
    megabytes: float


def cold_search(python: Path, collection: Path, model: Path | None, *, times: int) -> ColdSearch:
    """Search a collection `times` times, each in a new process of this interpreter."""
    command = [str(python), "-m", "lingvis", "search", str(collection), "a dog", "--lang", "en"]
    runs = [_run([*command, *(["--model", str(model)] if model else [])]) for _ in range(times)]
    return ColdSearch(
        round(min(run.seconds for run in runs), 3),
        round(min(run.cpu_seconds for run in runs), 3),
        round(min(run.megabytes for run in runs), 1),
    )


def _run(command: Sequence[str]) -> ColdSearch:
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise UserError(f"{' '.join(command)} ended with status {done.returncode}; see above")
    return ColdSearch(*json.loads(done.stdout))
