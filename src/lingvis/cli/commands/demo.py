"""`lingvis demo`: the whole path on the built-in data."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from lingvis.cli.options import Json
from lingvis.printing import print_line

PORT = 8000


def demo(
    *,
    out: Path = Path("demo"),
    scenes: int = 3000,
    serve: Annotated[bool, Parameter(negative="--no-serve")] = True,
    json: Json = False,
) -> None:
    """Search photographs in ten languages; then make scenes, train on them, evaluate, search; show the page. Offline.

    The photographs and their model come with lingvis. The scenes are drawn: a small model learns them in 14 languages.

    Parameters
    ----------
    out: Path
        Folder for everything that the demo makes; finished steps are not repeated.
    scenes: int
        Number of drawn pictures; fewer are faster, and the model learns less.
    serve: bool
        Show the page of the photographs at a local address until Ctrl-C; --no-serve starts a server, checks it and stops it.
    """
    from lingvis.cli.output import print_json
    from lingvis.collection.collection import Collection
    from lingvis.demo.run import COLLECTION, PAGE, PHOTOGRAPH_COLLECTION, run_demo
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
        photographs, scenes = report.photographs["pictures"], report.collection["pictures"]
        print_line(
            f"queries to {photographs} photographs in the languages of lingvis-base, with rank, score and file of the"
        )
        print_line("best results (the search uses only the pictures)")
        _print_queries(report.photographs["queries"], captions=False)
        print_line("")
        print_report(report.evaluation)
        print_line(f"page of results: {out / PAGE}")
        print_line("")
        print_line(
            f"queries to {scenes} scenes that the model was not trained on, with rank, score, picture and caption of"
        )
        print_line("the best results (the search uses only the pictures)")
        _print_queries(report.questions, captions=True)
    if serve:
        from lingvis.serve.run import serve as show

        print_line("")
        print_line(f"the scenes have a page too: lingvis serve {out / COLLECTION}")
        show(Collection.open(out / PHOTOGRAPH_COLLECTION), port=_port(), open_browser=True)
    elif not json:
        print_line("")
        print_line(f"checked through a server: {', '.join(report.checked)}")


def _print_queries(queries: Sequence[Mapping[str, Any]], *, captions: bool) -> None:
    for query in queries:
        lang, detected = query["lang"], query["detected"]
        print_line("")
        print_line(f"{lang}  {query['text']}" + (f"  (detected as {detected})" if detected != lang else ""))
        for hit in query["hits"]:
            line = f"  {hit['rank']}  {hit['score']:.4f}  {hit['path']}"
            print_line(f"{line}  {hit['caption']}" if captions else line)


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
