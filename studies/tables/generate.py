"""Put numbers and help texts into the docs: tables from results/, docs/reference/cli.md from the commands themselves.

python docs/generate.py           rewrite what has changed
python docs/generate.py --check   fail, naming the files, when something is stale
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from lingvis.cli.app import app
from lingvis.files import write_text
from studies.pooling.report import pooling_table
from studies.tables.api import command_words, python_reference
from studies.tables.claims import claims
from studies.tables.languages import consistency, languages_summary, languages_table
from studies.tables.markdown import read, spread, table
from studies.tables.parts import fill_parts
from studies.tables.plots import draw
from studies.tables.questions import (
    dictionary_coverage,
    dictionary_rules,
    exploration,
    lambdas,
    latent_tokens,
    liwe_sizes,
    plateaus,
    query_speed,
    search_log,
)
from studies.tables.records import Records
from studies.tables.scale import hundred_million, measured_speed
from studies.tables.search import crashes, engines, load, rerank, typed
from studies.tables.sparse import (
    one_language,
    sparse,
    sparse_choice,
    sparse_gap,
    sparse_semantics,
    sparse_short,
    sparse_weights,
    suggestion,
)
from studies.tables.transfer import alignment, new_language, transfer

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
FLICKR = RESULTS / "flickr8k-ml"
RECALLS = [(side, f"R@{k}") for side in ("i2t", "t2i") for k in (1, 5, 10)]


def retrieval() -> str:
    """English retrieval on flickr8k-ml: one row a recipe, means over seeds."""
    rows = []
    for name in ("vsepp", "vse_infinity_grid", "vse_infinity_region"):
        record = read(FLICKR / f"{name}.json")
        tests = [run["test"]["languages"]["en"] for run in record["runs"]]
        recalls = [f"{statistics.mean([test[side][key] for test in tests]):.1f}" for side, key in RECALLS]
        millions = f"{record['runs'][0]['parameters']['total'] / 1e6:.1f} M"
        rows.append([f"`{name}`", *recalls, spread([test["rsum"] for test in tests]), millions])
    both = read(FLICKR / "ensemble-region-grid.json")
    english = both["languages"]["en"]
    recalls = [f"{english[side][key]:.1f}" for side, key in RECALLS]
    rows.append(
        [
            "region + grid, seed 0",
            *recalls,
            f"{english['rsum']:.1f}",
            f"{both['parameters']['total'] / 1e6:.1f} M",
        ]
    )
    head = ["recipe", *(f"{side} {key}" for side, key in RECALLS), "rsum", "parameters"]
    return table(head, rows)


def speed() -> str:
    """Milliseconds of a training step of vse_infinity_region at batch 128."""
    region = read(FLICKR / "vse_infinity_region.json")
    whole = [run["training"]["seconds"] / run["training"]["steps"] * 1000 for run in region["runs"]]
    rows = [["reference implementation, one H200 (given)", "41", "1.0"]]
    for label, ms in (
        ("lingvis, H200, whole run with validation, mean of 3", statistics.mean(whole)),
        (
            "lingvis, H200, steps alone, first 300 (graphs being recorded)",
            read(FLICKR / "step-h200.json")["ms_per_step"],
        ),
        (
            "lingvis, H200, steps alone, without CUDA graphs",
            read(FLICKR / "step-h200-eager.json")["ms_per_step"],
        ),
        ("lingvis, 2 CPU cores", read(FLICKR / "step-cpu.json")["ms_per_step"]),
        (
            "lingvis, 2 CPU cores, training.precision=bfloat16",
            read(FLICKR / "step-cpu-bfloat16.json")["ms_per_step"],
        ),
    ):
        rows.append(
            [
                label,
                f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}",
                f"{41 / ms:.1f}" if ms < 100 else f"{41 / ms:.3f}",
            ]
        )
    return table(["where", "ms a step", "times the reference's speed"], rows)


def cpu_step() -> str:
    """Where the time of a step goes on the CPU."""
    record = read(FLICKR / "step-cpu.json")
    phases = ", ".join(f"{name} {ms:,.0f} ms" for name, ms in record["phases_ms"].items())
    rows = [
        [
            f"`{row['operation']}`",
            f"{row['ms_per_step']:,.0f}",
            f"{100 * row['share']:.0f} %",
            f"{row['calls']:.0f}",
        ]
        for row in record["operations"][:8]
    ]
    machine = f"{record['hardware']['cpu']}, {record['hardware']['cores']} cores"
    head = f"{machine}: {record['seconds_per_epoch']:,.0f} s an epoch; {phases}."
    return head + "\n\n" + table(["operation", "ms a step", "share", "calls"], rows)


def gpo_start() -> str:
    """Validation runs that chose how GPO starts."""
    rows = []
    for run in read(FLICKR / "gpo-start.json")["runs"]:
        curve = run["validation_rsum"]
        share = run.get("image_weight_on_first_quarter_at_start")
        rows.append(
            [
                run["gpo_start"],
                f"{100 * share:.0f} %" if share is not None else "",
                "yes" if run["rate_warmup"] else "no",
                str(run["min_count"]),
                str(run["seed"]),
                f"{curve[6]:.1f}",
                f"{max(curve):.1f}" if run["epochs"] == 25 else "",
                run["notes"],
            ]
        )
    head = [
        "start",
        "on the largest quarter",
        "rate warm-up",
        "min_count",
        "seed",
        "val rsum, epoch 7",
        "best of 25",
        "notes",
    ]
    return table(head, rows)


def ranks() -> str:
    record = read(RESULTS / "ranks" / "ranks.json")
    counting = record["counting"]
    rows = [
        ["counting (lingvis)", f"{counting['seconds']:.2f}", f"{counting['peak_mb_above_inputs']:.0f}"],
        ["argsort for every query", f"{record['loop']['seconds']['all_queries']:.1f}", ""],
    ]
    machine = f"{record['hardware']['cores']} cores ({record['hardware']['cpu']})"
    what = f"{record['images']:,} x {record['texts']:,} x {record['dim']}, {machine}"
    return f"{what}: {record['times_faster']:.1f} times faster.\n\n" + table(
        ["way", "seconds", "MB above the inputs"], rows
    )


def extraction() -> str:
    rows = []
    for name, label in (("made", "made JPEGs, 500x375"), ("flickr", "flickr8k-ml, 224x224")):
        record = read(RESULTS / "extraction" / f"{name}.json")
        bare, whole = (
            statistics.median(record["bare_per_second"]),
            statistics.median(record["extract_per_second"]),
        )
        rows.append([label, f"{bare:.0f}", f"{whole:.0f}", f"{100 * record['ratio']:.0f} %"])
    return table(["pictures", "backbone alone, pictures/s", "extraction, pictures/s", "ratio"], rows)


def demo() -> str:
    report = read(RESULTS / "demo" / "demo.json")
    rows = [
        [lang, *(f"{each[side][key]:.1f}" for side, key in RECALLS), f"{each['mR']:.1f}"]
        for lang, each in report["languages"].items()
    ]
    chance = statistics.mean([each["chance"] for each in report["languages"].values()])
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in report["seconds"].items())
    head = table(["language", *(f"{side} {key}" for side, key in RECALLS), "mR"], rows)
    return f"{head}\n\nMean mR {report['A']:.1f}; chance is {chance:.1f}. On {report['hardware']['cores']} cores: {took}."


def sort() -> str:
    record = read(RESULTS / "pooling" / "sort.json")
    rows = [
        [
            "forward and backward" if row["backward"] else "forward",
            f"{row['ms']['torch.sort']:.0f} ms",
            f"{row['ms']['packed']:.0f} ms",
            f"{row['ratio']:.1f}",
        ]
        for row in record["rows"]
    ]
    what = f"Median of {record['rounds']} rounds in turn, {record['hardware']['cores']} cores ({record['hardware']['cpu']}):"
    return f"{what}\n\n" + table(["", "`torch.sort`", "packed sort", "ratio"], rows)


def pooling() -> str:
    return pooling_table(read(RESULTS / "pooling" / "pooling.json"))


# Blocks about runs in many languages.
LANGUAGES: dict[str, Callable[[Records], str]] = {
    "languages-table": languages_table,
    "languages-summary": languages_summary,
    "claims": claims,
    "consistency": consistency,
    "liwe-sizes": liwe_sizes,
    "lambda": lambdas,
    "exploration": exploration,
    "search-log": search_log,
    "lingvis-speed": query_speed,
    "latent": latent_tokens,
    "plateaus": plateaus,
    "dictionary-rules": dictionary_rules,
    "dictionary-coverage": dictionary_coverage,
}

BLOCKS: dict[str, Callable[[], str]] = {
    "retrieval": retrieval,
    "speed": speed,
    "cpu-step": cpu_step,
    "gpo-start": gpo_start,
    "ranks": ranks,
    "extraction": extraction,
    "demo": demo,
    "pooling": pooling,
    "sort": sort,
    "scale": lambda: measured_speed(read(RESULTS / "scale" / "indexing.json")),
    "hundred-million": lambda: hundred_million(read(RESULTS / "scale" / "indexing.json")),
    "search-engines": lambda: engines(RESULTS / "search"),
    "search-typed": lambda: typed(RESULTS / "search"),
    "search-load": lambda: load(RESULTS / "search"),
    "search-crash": lambda: crashes(RESULTS / "search"),
    "alignment": lambda: alignment(RESULTS / "alignment"),
    "transfer": lambda: transfer(RESULTS / "transfer"),
    "new-language": lambda: new_language(RESULTS / "new-language"),
    "rerank": lambda: rerank(RESULTS / "rerank"),
    "sparse": lambda: sparse(RESULTS / "sparse"),
    "sparse-short": lambda: sparse_short(RESULTS / "sparse"),
    "sparse-gap": lambda: sparse_gap(RESULTS / "sparse"),
    "sparse-weights": lambda: sparse_weights(RESULTS / "sparse"),
    "sparse-semantics": lambda: sparse_semantics(RESULTS / "sparse"),
    "sparse-choice": lambda: sparse_choice(RESULTS / "sparse"),
    "suggest": lambda: suggestion(RESULTS / "sparse"),
    "one-language": lambda: one_language(RESULTS / "sparse"),
}


def fill(text: str) -> str:
    """Replace what stands between `<!-- results:NAME -->` and `<!-- /results:NAME -->`."""

    def block(found: re.Match[str]) -> str:
        name = found[1]
        made = LANGUAGES[name](Records(RESULTS)) if name in LANGUAGES else BLOCKS[name]()
        return f"<!-- results:{name} -->\n{made.strip()}\n<!-- /results:{name} -->"

    return re.sub(r"<!-- results:([\w-]+) -->.*?<!-- /results:\1 -->", block, text, flags=re.DOTALL)


def commands() -> str:
    """docs/reference/cli.md: the help text of every command."""
    from rich.console import Console

    parts = ["# Command line\n\nMade by `python -m studies.tables.generate` from the commands themselves.\n"]
    for words in command_words(app):
        console = Console(width=100, record=True, file=open("/dev/null", "w"), force_terminal=False)  # noqa: SIM115
        app.help_print(words, console=console)
        text = "\n".join(line.rstrip() for line in console.export_text().splitlines())
        parts.append(
            f"## lingvis {' '.join(words)}\n\n```\n{text.strip()}\n```\n".replace("lingvis \n", "lingvis\n")
        )
    return "\n".join(parts)


def main() -> None:
    pages = {
        path: fill(fill_parts(path.read_text(encoding="utf-8")))
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    }
    pages[ROOT / "docs" / "reference" / "cli.md"] = commands()
    pages[ROOT / "docs" / "reference" / "python.md"] = python_reference()
    stale = [
        path for path, text in pages.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        if stale:
            sys.exit(
                "stale, run python -m studies.tables.generate: "
                + ", ".join(str(path.relative_to(ROOT)) for path in stale)
            )
        return
    draw(Records(RESULTS), ROOT / "docs" / "images")
    for path in stale:
        write_text(path, pages[path])
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
