"""Put numbers and help texts into the docs: tables from results/, reference pages from the package.

python -m studies tables           rewrite the pages that have changed
python -m studies tables --check   fail and name the stale pages
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lingvis.cli.app import app
from lingvis.files import write_text
from lingvis.recipes.overview import MEASURED
from studies.arguments import make_parser
from studies.languages import translated
from studies.pooling.report import pooling_table
from studies.pretrained.report import precision_table, without_torch_table
from studies.relevance.report import confidence_table, language_table, reported_sentences
from studies.repeat.report import repeat_table
from studies.retrieval_tables.methods import TABLES
from studies.tables.papers import papers
from studies.tables.reference.api import python_reference
from studies.tables.reference.command_help import command_page
from studies.tables.reference.parts import fill_parts
from studies.tables.reference.recipe_sizes import measured_recipes
from studies.tables.results import (
    ablations,
    dictionaries,
    indexing,
    languages,
    retrieval,
    search,
    security,
    sparse,
    speed,
    transfer,
)
from studies.tables.results.claims import claims, claims_before
from studies.tables.results.plots import draw
from studies.tables.results.records import Results
from studies.video.report import video_table

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "results"
README = ROOT / "README.md"
RELEVANCE = "lingvis-base-test"  # the record of the model that comes with lingvis

BLOCKS: dict[str, Callable[[Results], str]] = {
    "languages-table": languages.languages_table,
    "languages-summary": languages.languages_summary,
    "claims": claims,
    "claims-before": claims_before,
    "papers": papers,
    "consistency": languages.consistency,
    "consistency-machine": translated.consistency,
    "sentences": translated.sentences,
    "machine-captions": translated.machine_captions,
    "translated-languages": translated.translated_languages,
    "lingvis-speed": languages.query_speed,
    "liwe-sizes": ablations.liwe_sizes,
    "lambda": ablations.lambdas,
    "exploration": ablations.exploration,
    "explored": ablations.explored,
    "pretraining": ablations.pretraining,
    "latent-costs": ablations.latent_costs,
    "plateau-ends": ablations.plateau_ends,
    "search-log": ablations.search_log,
    "latent": ablations.latent_tokens,
    "plateaus": ablations.plateaus,
    "dictionary-rules": dictionaries.dictionary_rules,
    "dictionary-coverage": dictionaries.dictionary_coverage,
    "retrieval": retrieval.retrieval,
    **{f"retrieval-table-{number}": retrieval.supplement(number) for number in TABLES},
    "repeat": lambda results: repeat_table(results.where("repeat")),
    "repeat-elsewhere": retrieval.repeated,
    "gpo-start": retrieval.gpo_start,
    "ingredients": retrieval.ingredients,
    "trained-backbone": retrieval.trained_backbone,
    "compact": retrieval.compact,
    "demo": retrieval.demo,
    "start": retrieval.start,
    "relevance-languages": lambda results: language_table(results.get("relevance", RELEVANCE)),
    "relevance-reported": lambda results: reported_sentences(results.get("relevance", RELEVANCE)),
    "relevance-confidence": lambda results: confidence_table(results.get("relevance", RELEVANCE)),
    "precision": precision_table,
    "without-torch": without_torch_table,
    "speed": speed.speed,
    "cpu-step": speed.cpu_step,
    "ranks": speed.ranks,
    "extraction": speed.extraction,
    "sort": speed.sort,
    "sort-gpu": speed.sort_gpu,
    "out-of-the-box": speed.out_of_the_box,
    "pooling": lambda results: pooling_table(results.get("pooling", "pooling")),
    "scale": indexing.measured_speed,
    "video": video_table,
    "writing": indexing.writing,
    "hundred-million": indexing.hundred_million,
    "search-summary": search.summary,
    "search-engines": search.engines,
    "search-typed": search.typed,
    "search-pgvector": search.pgvector,
    "search-milvus": search.milvus,
    "search-load": search.load,
    "search-crash": search.crashes,
    "rerank": search.rerank,
    "siege": security.siege,
    "fuzz": security.fuzz,
    "alignment": transfer.alignment,
    "transfer": transfer.transfer,
    "new-language": transfer.new_language,
    "route-choice": transfer.route_choice,
    "distilled-text": transfer.distilled_text,
    "sparse": sparse.sparse,
    "sparse-first": sparse.sparse_first,
    "common-space": ablations.common_space,
    "plateau-recall": ablations.plateau_recall,
    "sparse-trials": sparse.sparse_trials,
    "sparse-vocabulary": sparse.sparse_vocabulary,
    "sparse-gap": sparse.sparse_gap,
    "sparse-weights": sparse.sparse_weights,
    "sparse-pseudo-captions": sparse.sparse_pseudo_captions,
    "sparse-choice": sparse.sparse_choice,
    "suggest": sparse.suggestion,
    "one-language": sparse.one_language,
}
# Blocks that show times, and so the caveats of times.
TIMED = {
    "alignment",
    "cpu-step",
    "demo",
    "extraction",
    "hundred-million",
    "writing",
    "languages-table",
    "lingvis-speed",
    "new-language",
    "out-of-the-box",
    "precision",
    "ranks",
    "rerank",
    "scale",
    "route-choice",
    "search-engines",
    "search-load",
    "search-milvus",
    "search-pgvector",
    "search-typed",
    "siege",
    "sort",
    "sort-gpu",
    "speed",
    "start",
    "video",
    "without-torch",
}


def fill(text: str, results: Results, *, caveats: bool = True) -> str:
    """The text with new content between `<!-- results:NAME -->` and `<!-- /results:NAME -->`.

    caveats: list the caveats of the records below each block.
    """

    def block(match: re.Match[str]) -> str:
        name = match[1]
        content = BLOCKS[name](results).strip()
        below = results.take_caveats(times=name in TIMED)
        parts = [content, below] if below and caveats else [content]
        return f"<!-- results:{name} -->\n" + "\n\n".join(parts) + f"\n<!-- /results:{name} -->"

    return re.sub(r"<!-- results:([\w-]+) -->.*?<!-- /results:\1 -->", block, text, flags=re.DOTALL)


def pages(results: Results) -> dict[Path, str]:
    """Every page with its content as it should be."""
    filled = {README: fill(README.read_text(encoding="utf-8"), results, caveats=False)}
    for path in sorted(DOCS.rglob("*.md")):
        filled[path] = fill(fill_parts(path.read_text(encoding="utf-8")), results)
    reference = DOCS / "reference"
    return filled | {
        reference / "cli.md": command_page(app),
        reference / "python.md": python_reference(),
        ROOT / "src" / "lingvis" / "recipes" / MEASURED: measured_recipes(RESULTS),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite or check."""
    parser = make_parser("tables", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    args = parser.parse_args(arguments)
    results = Results(RESULTS)
    stale = {
        path: text
        for path, text in pages(results).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    if args.check:
        if stale:
            sys.exit(
                "stale, run python -m studies tables: "
                + ", ".join(str(path.relative_to(ROOT)) for path in stale)
            )
        return
    draw(results, DOCS / "images")
    for path, text in stale.items():
        write_text(path, text)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
