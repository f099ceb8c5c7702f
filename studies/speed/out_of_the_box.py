"""Two commands: install lingvis[photos], then `lingvis serve FOLDER` without a network and with an empty home.

It measures the install (seconds, megabytes), the seconds from the first command to the first answer, a second start, a
search on the command line, memory, and asks in ten languages. Without the right to a network namespace
(`unshare -rn`), the network is only hidden from programs that use proxies, and the record says so.

    python -m studies out-of-the-box WHEEL_OR_CHECKOUT [--photos DIR] [--no-install]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from lingvis.demo.photographs import QUERIES, SHIPPED
from lingvis.errors import UserError
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, check_writable, origin

ROOT = Path(__file__).parents[2]
NAME = "photos"
SECONDS = 900
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
BLOCKED = "http://127.0.0.1:9"


def install(source: Path, place: Path) -> dict[str, Any]:
    """Install into a fresh virtual environment; returns its seconds and megabytes, without Python and pip."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    before, start = folder_megabytes(place), time.perf_counter()
    command = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    command += ["--constraint", str(ROOT / "constraints.txt"), f"{source}[photos]"]
    subprocess.run(command, check=True)
    seconds = time.perf_counter() - start
    return {
        "install_seconds": round(seconds, 1),
        "install_megabytes": round(folder_megabytes(place) - before, 1),
    }


def folder_megabytes(folder: Path) -> float:
    """The size of all files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) / 1e6


def inside(program: str, photos: str) -> None:
    """In an empty home, and without a network if possible: serve, ask, serve again, search; prints JSON."""
    raise_loopback()
    first = served(program, photos, [*QUERIES])
    indexed = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    again = served(program, photos, [*QUERIES][:1])
    start = time.perf_counter()
    subprocess.run([program, "search", photos, QUERIES[0][1]], check=True, stdout=subprocess.DEVNULL)
    searched = time.perf_counter() - start
    print(
        json.dumps(
            {
                "first_answer_seconds": first["seconds"],
                "second_start_seconds": again["seconds"],
                "search_seconds": round(searched, 2),
                "server_megabytes": first["megabytes"],
                "largest_process_megabytes": round(indexed, 1),
                "collection_megabytes": round(folder_megabytes(Path(os.environ["HOME"])), 1),
                "pictures": first["pictures"],
                "answers": first["answers"],
            }
        )
    )


def raise_loopback() -> None:
    """Bring up the loopback interface of a new network namespace; elsewhere it is up already."""
    import fcntl
    import socket

    with socket.socket() as handle:
        try:
            fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        except PermissionError:
            return


def served(program: str, photos: str, queries: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Start `lingvis serve` on the folder, ask, and stop it; seconds: until the first answer."""
    start = time.perf_counter()
    command = [program, "serve", photos, "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base = process.stdout.readline().partition(" is at ")[2].partition(" ")[0]
        answers, seconds = {}, 0.0
        for lang, text in queries:
            hits = ask(f"{base}api/search?{urlencode({'q': text, 'k': 3})}")["hits"]
            seconds = seconds or time.perf_counter() - start
            answers[lang] = {"query": text, "hits": [Path(hit["path"]).name for hit in hits]}
        pictures = ask(f"{base}api/collection")["pictures"]
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        (resident,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        process.terminate()
        process.wait(60)
    megabytes = int(resident.split()[1]) / 1e3
    return {
        "seconds": round(seconds, 2),
        "megabytes": round(megabytes, 1),
        "pictures": pictures,
        "answers": answers,
    }


def ask(address: str) -> Any:
    """The JSON of an address of this machine."""
    with build_opener(ProxyHandler({})).open(address, timeout=60) as answer:
        return json.load(answer)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One record; the measured programs see an empty home and nothing of this environment."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        home, photos = work / "home", work / "photographs"
        home.mkdir()
        photos.mkdir()
        for file in sorted(options.photos.glob("*.jpg")):
            shutil.copyfile(file, photos / file.name)
        installed: dict[str, Any] = {}
        program = Path(sys.executable).with_name("lingvis")
        if not options.no_install:
            installed = install(options.source.resolve(), work / "venv")
            program = work / "venv" / "bin" / "lingvis"
        isolated = subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        environment |= {} if isolated else {"http_proxy": BLOCKED, "https_proxy": BLOCKED}
        code = f"from {__name__} import inside; inside({str(program)!r}, {str(photos)!r})"
        done = subprocess.run(
            [*(["unshare", "-rn"] if isolated else []), sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        )
    if done.returncode:
        raise UserError("lingvis did not answer; its message is above")
    return {
        "name": NAME,
        "study": "out-of-the-box",
        **origin(),
        "installed": "nothing" if options.no_install else options.source.name,
        "network": "off" if isolated else "proxies blocked",
        **({"caveats": ["the install was not measured"]} if options.no_install else {}),
        **installed,
        **json.loads(done.stdout.splitlines()[-1]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this study."""
    parser = make_parser("out-of-the-box", __doc__)
    parser.add_argument("source", type=Path, nargs="?", default=ROOT, help="a wheel, or a checkout")
    parser.add_argument("--photos", type=Path, default=SHIPPED, help="a folder of JPEG files")
    parser.add_argument("--no-install", action="store_true", help="measure the lingvis of this environment")
    add_out(parser, "results/out-of-the-box")
    options = parser.parse_args(arguments)
    check_writable(options.out)
    record = measure(options)
    append(options.out / RUNS, record)
    print(json.dumps(record, ensure_ascii=False, indent=2))
