"""The learning curve of Translator: recall against the number of captions in a new language, for FS, T1 and T2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.files import check_writable, write_text
from lingvis.text.alignment import induce_dictionary, parallel_words
from studies.grid import raise_failed, workers
from studies.transfer.cells import METHODS, Cell, Setting, SourceRun
from studies.transfer.report import draw_curve, transfer_csv


def run_transfer_benchmark(
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
) -> list[dict[str, Any]]:
    """Records of all methods, sizes and seeds, those of earlier calls included; writes the pair's CSV and PNG.

    Source models are kept in `work` for other pairs. A run that was stopped is gone on with.
    """
    dataset = Dataset.open(dataset_path)
    chosen = list(methods) or list(METHODS)
    _check(dataset, source, target, sizes, seeds, chosen, at_once)
    for folder in (out, work):
        check_writable(folder)
    setting = Setting(
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
    cells = [Cell(setting, method, size, seed) for size in sizes for seed in seeds for method in chosen]
    missing = [cell for cell in cells if cell.record() is None]
    if any(METHODS[cell.method].recipe == "translator_t2" for cell in missing) and dictionary is None:
        _write_dictionary(dataset, setting)
    sources = {cell.seed: SourceRun(setting, cell.seed) for cell in missing if METHODS[cell.method].takes}
    with workers(at_once) as run_all:
        raise_failed(run_all(list(sources.values()), "source models"))
        raise_failed(run_all(missing, setting.pair))
    records = [record for cell in cells if (record := cell.record()) is not None]
    write_text(out / f"{setting.pair}.csv", transfer_csv(records))
    draw_curve(records, out / f"{setting.pair}.png")
    return records


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
    there = len(dataset.captions("train", [target]).texts)
    for size in sizes:
        if not 0 <= size <= there:
            raise UserError(
                f"--sizes has {size}, but {target} has {there} training captions; give up to {there}, or 0 for all"
            )


def _captions(dataset: Dataset, split: str, lang: str) -> bool:
    return any(row.captions.get(lang) for row in dataset.rows if row.split == split)


def _write_dictionary(dataset: Dataset, setting: Setting) -> None:
    """Induce the dictionary once for all runs of a pair; a line is a word and a translation."""
    if not setting.dictionary.is_file():
        found = induce_dictionary(parallel_words(dataset, setting.target, setting.source))
        write_text(
            setting.dictionary,
            "".join(f"{word}\t{other}\n" for word, others in found.items() for other in others),
        )
