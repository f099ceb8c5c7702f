"""Tables 1, 2, 3, 7 and 8 of VSE-infinity's supplement: pooling, size augmentation and generators on retrieval.

python -m studies retrieval-tables DATASET --at-once 4 [--tables 1 2] [--seeds 0 1 2] [section.key=value ...]

The dataset needs features of a grid. A variant that several tables show is trained once. Runs that have a record in
--out are not trained again; a stopped command resumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.cli.output import print_json, print_table
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from studies.arguments import add_grid, add_out, make_parser
from studies.grid import GridSetting, stored_records
from studies.parallel import raise_failed, workers
from studies.records import Record, check_writable
from studies.retrieval_tables.cells import STUDY, TableCell
from studies.retrieval_tables.methods import TABLES, VARIANTS
from studies.retrieval_tables.report import reading, table_rows


def run_retrieval_tables(
    dataset: Path,
    out: Path,
    *,
    tables: Sequence[int],
    seeds: Sequence[int],
    overrides: Sequence[str] = (),
    work: Path,
    device: str | None = None,
    at_once: int = 1,
) -> list[Record]:
    """Return the records of all variants of some tables, with those of earlier calls.

    Failed runs are reported after all others are done.
    """
    unknown = [number for number in tables if number not in TABLES]
    if unknown:
        raise UserError(f"there is no table {unknown[0]} on retrieval; choose among: {choices(TABLES)}")
    setting = GridSetting(
        dataset=dataset,
        dataset_sha256=Dataset.open(dataset).fingerprint,
        overrides=tuple(overrides),
        out=out,
        work=work,
        device=device,
    )
    shown = {row.variant for number in tables for row in TABLES[number].rows}
    cells = [TableCell(setting, variant, seed) for seed in seeds for variant in VARIANTS if variant in shown]
    stored = stored_records(cells, setting.file)
    for folder in (out, work):
        check_writable(folder)
    with workers(at_once) as run_all:
        failed = run_all([cell for cell in cells if cell.name not in stored], STUDY)
    raise_failed(failed)
    stored = stored_records(cells, setting.file)
    return [stored[cell.name] for cell in cells]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, print."""
    parser = make_parser(STUDY, __doc__)
    add_grid(parser, f"runs/{STUDY}")
    add_out(parser, f"results/{STUDY}")
    parser.add_argument(
        "--tables",
        type=int,
        nargs="+",
        default=list(TABLES),
        help=f"some of {choices(TABLES)}; all by default",
    )
    args = parser.parse_intermixed_args(arguments)
    records = run_retrieval_tables(
        args.dataset,
        args.out,
        tables=args.tables,
        seeds=args.seeds,
        overrides=args.overrides,
        work=args.work,
        device=args.device,
        at_once=args.at_once,
    )
    if args.json:
        print_json(records)
        return

    def runs(variant: str) -> list[Record]:
        return [record for record in records if record["row"] == variant]

    for number in args.tables:
        print_table(f"Table {number}, split test", *table_rows(TABLES[number], runs))
        print(reading(TABLES[number], runs))


if __name__ == "__main__":
    main()
