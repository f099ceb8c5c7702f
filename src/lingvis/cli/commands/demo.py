"""`lingvis demo`: the whole path on the built-in data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lingvis.cli.options import Json
from lingvis.printing import print_line

if TYPE_CHECKING:
    from lingvis.demo.run import DemoReport

PORT = 8000


def demo(
    *,
    out: Path = Path("demo"),
    scenes: int = 3000,
    serve: Annotated[bool, Parameter(negative="--no-serve")] = True,
    json: Json = False,
) -> None:
    """Make scenes, extract features, train, evaluate in 14 languages, index, search and show the page; offline.

    Parameters
    ----------
    out: Path
        Folder for everything that the demo makes; finished steps are not repeated.
    scenes: int
        Number of pictures; fewer are faster, and the model learns less.
    serve: bool
        Show the search page at a local address until Ctrl-C; --no-serve starts a server, checks it and stops it.
    """
    from lingvis.cli.output import print_json
    from lingvis.collection.collection import Collection
    from lingvis.demo.run import COLLECTION, PAGE, run_demo
    from lingvis.demo.server import CheckError
    from lingvis.evaluation.report.table import print_report

    try:
        report = run_demo(out, scenes=scenes, check=not serve)
    except CheckError as error:
        print_line(f"lingvis: {error}", stderr=True)
        sys.exit(1)
    if json:
        print_json(report.as_json())
    else:
        print_report(report.evaluation)
        print_line(f"page of results: {out / PAGE}")
        _print_queries(report)
    if serve:
        from lingvis.serve.run import serve as show

        show(Collection.open(out / COLLECTION), port=_port())
    elif not json:
        print_line("")
        print_line(f"checked through a server: {', '.join(report.checked)}")


def _print_queries(report: DemoReport) -> None:
    print_line("")
    print_line(f"queries to {report.collection['pictures']} scenes that the model was not trained on, with")
    print_line("rank, score, picture and caption of the best results (the search uses only the pictures)")
    for query in report.questions:
        lang, detected = query["lang"], query["detected"]
        print_line("")
        print_line(f"{lang}  {query['text']}" + (f"  (detected as {detected})" if detected != lang else ""))
        for hit in query["hits"]:
            print_line(f"  {hit['rank']}  {hit['score']:.4f}  {hit['path']}  {hit['caption']}")


def _port() -> int:
    """Return the default port, or 0 (any free port) if it is in use."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT
