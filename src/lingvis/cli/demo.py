"""`lingvis demo`: the whole path on the built-in data."""

from __future__ import annotations

from pathlib import Path


def demo(*, out: Path = Path("demo"), serve: bool = True, json: bool = False) -> None:
    """Make scenes, extract features, train, evaluate in 14 languages and show the page; offline.

    Parameters
    ----------
    out: Path
        Folder for everything the demo makes; what is there already is not made again.
    serve: bool
        Show the page of results at a local address until Ctrl-C.
    json: bool
        Print the report as JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.evaluation.report import print_report
    from lingvis.jobs.demo import run_demo, serve_page

    report = run_demo(out)
    if json:
        print_json(report)
    else:
        print_report(report)
        print(f"page of results: {out / 'page' / 'index.html'}")
    if serve:
        serve_page(out / "page")
