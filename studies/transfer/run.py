"""The learning curve of Translator: recall against the number of captions in a new language, for FS, T1 and T2.

python -m studies transfer DATASET --source de --target fr [--sizes 100 1000 0] [--methods fs t1] [section.key=value ...]

The dataset needs features and word vectors. Runs that have a record in --out are not trained again; a stopped command
resumes. Also writes SOURCE-TARGET.csv and SOURCE-TARGET.png of all records of the pair into --out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.cli.output import print_json, print_table
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.files import write_text
from lingvis.text.alignment import induce_dictionary, parallel_words
from studies.arguments import add_grid, add_out, make_parser
from studies.grid import stored_records
from studies.parallel import raise_failed, workers
from studies.records import Record, agrees, check_writable, read
from studies.transfer.cells import SourceRun, TransferCell, TransferSetting
from studies.transfer.methods import METHODS
from studies.transfer.report import draw_curve, transfer_csv, transfer_table


def run_transfer_study(
    dataset_path: Path,
    out: Path,
    *,
    source: str,
    target: str,
    sizes: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str] = (),
    overrides: Sequence[str] = (),
    dictionary: Path | None = None,
    work: Path,
    device: str | None = None,
    at_once: int = 1,
) -> list[Record]:
    """Return the records of these methods, sizes and seeds, with those of earlier calls.

    The pair's CSV and PNG show all its records. Source models are kept in `work` for other pairs. A stopped run is
    resumed.
    """
    dataset = Dataset.open(dataset_path)
    chosen = list(methods) or list(METHODS)
    _check(dataset, source, target, sizes, seeds, chosen, at_once)
    for folder in (out, work):
        check_writable(folder)
    setting = TransferSetting(
        dataset=dataset_path,
        dataset_sha256=dataset.fingerprint,
        source=source,
        target=target,
        available=len(dataset.captions("train", [target]).texts),
        split="test" if _captions(dataset, "test", target) else "val",
        overrides=tuple(overrides),
        dictionary=dictionary or work / f"dictionary-{target}-{source}-{dataset.fingerprint[:8]}.tsv",
        out=out,
        work=work,
        device=device,
    )
    cells = [
        TransferCell(setting, method, size, seed) for size in sizes for seed in seeds for method in chosen
    ]
    stored = stored_records(cells, setting.file)
    missing = [cell for cell in cells if cell.name not in stored]
    if any(cell.recipe == "translator_t2" for cell in missing) and dictionary is None:
        _write_dictionary(dataset, setting)
    sources = {cell.seed: SourceRun(setting, cell.seed) for cell in missing if cell.starts_from_source}
    with workers(at_once) as run_all:
        raise_failed(run_all(list(sources.values()), "source models"))
        raise_failed(run_all(missing, setting.pair))
    stored = stored_records(cells, setting.file)
    whole = [
        record
        for record in read(setting.file)
        if agrees(record, {"source": source, "target": target, "dataset_sha256": dataset.fingerprint})
    ]
    write_text(out / f"{setting.pair}.csv", transfer_csv(whole))
    draw_curve(whole, out / f"{setting.pair}.png")
    return [stored[cell.name] for cell in cells]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, print."""
    parser = make_parser("transfer", __doc__)
    add_grid(parser, "runs/transfer")
    add_out(parser, "results/transfer")
    parser.add_argument("--source", required=True, help="the language of the model to start from, such as de")
    parser.add_argument("--target", required=True, help="the new language, such as fr")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[100, 300, 1000, 3000, 0],
        help="numbers of captions; 0 is all",
    )
    parser.add_argument(
        "--methods", nargs="+", default=[], help=f"some of {choices(METHODS)}; all by default"
    )
    parser.add_argument(
        "--dictionary",
        type=Path,
        help="from target to source, for t2; induced from parallel sentences by default",
    )
    args = parser.parse_intermixed_args(arguments)
    records = run_transfer_study(
        args.dataset,
        args.out,
        source=args.source,
        target=args.target,
        sizes=args.sizes,
        seeds=args.seeds,
        methods=args.methods,
        overrides=args.overrides,
        dictionary=args.dictionary,
        work=args.work,
        device=args.device,
        at_once=args.at_once,
    )
    if args.json:
        print_json(records)
        return
    pair = f"{args.source}-{args.target}"
    columns, rows = transfer_table(records)
    print_table(f"{args.source} -> {args.target}, split {records[0]['split']}, by captions", columns, rows)
    print(f"{args.out / f'{pair}.csv'} and {args.out / f'{pair}.png'} hold all numbers")


def _check(
    dataset: Dataset,
    source: str,
    target: str,
    sizes: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str],
    at_once: int,
) -> None:
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise UserError(f"unknown method {unknown[0]!r}; choose among: {choices(METHODS)}")
    if source == target:
        raise UserError(f"--source and --target are both {source}; name two languages of the dataset")
    if not sizes or not seeds:
        raise UserError("--sizes and --seeds need a number each; leave them out for the usual ones")
    if at_once < 1:
        raise UserError(f"--at-once is {at_once}; give 1 or more")
    dataset.captions("train", [source])
    available = len(dataset.captions("train", [target]).texts)
    for size in sizes:
        if not 0 <= size <= available:
            raise UserError(
                f"--sizes has {size}, but {target} has {available} training captions; give up to {available}, "
                "or 0 for all"
            )


def _captions(dataset: Dataset, split: str, lang: str) -> bool:
    return any(row.captions.get(lang) for row in dataset.rows if row.split == split)


def _write_dictionary(dataset: Dataset, setting: TransferSetting) -> None:
    """Induce the dictionary once for all runs of a pair; a line is a word and a translation."""
    if not setting.dictionary.is_file():
        induced = induce_dictionary(parallel_words(dataset, setting.target, setting.source))
        write_text(
            setting.dictionary,
            "".join(f"{word}\t{other}\n" for word, others in induced.items() for other in others),
        )
