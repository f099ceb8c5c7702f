"""The job of measuring trained models on a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.choose import Asked, choose_reading, known_to_all
from lingvis.evaluation.evaluate import embed, measure
from lingvis.evaluation.pools import languages_in
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.report.examples import examples
from lingvis.evaluation.report.page import write_page
from lingvis.features.store import without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages


def evaluate_runs(
    runs: Sequence[Path],
    dataset_path: Path,
    *,
    protocol: str = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    consistency: str | None = None,
    save_consistency: bool = False,
    translate_to: str | None = None,
    translator: str | None = None,
    page: Path | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Report of one model, or of the ensemble of several; optionally with a page of example queries.

    Without `languages`, those that all the models were trained on (any with `translate_to`) and the protocol finds
    in the split. `consistency`, `translate_to` and `translator`: see jobs/reading.py.
    """
    chosen = find_protocol(protocol)
    where = chosen.split(split)
    asked = Asked(
        consistency=consistency,
        translate_to=translate_to,
        translator=translator,
        keep_in=runs[0] if save_consistency else None,
    )
    asked.check(where, len(runs))
    whole = Dataset.open(dataset_path)
    models = [StoredImages.open(Embedder.load(run, device=device), whole) for run in runs]
    dataset = without_broken(whole, [model.store for model in models])
    wanted = languages or _languages(models, dataset, chosen, where, any_language=translate_to is not None)
    reading = choose_reading(asked, models, dataset, protocol=chosen, split=where, wanted=wanted)
    embedded = embed(models, dataset, protocol=chosen, split=where, languages=wanted, reading=reading)
    report = measure(embedded)
    if page is not None:
        write_page(page, report, examples(embedded))
    return report


def _languages(
    models: Sequence[StoredImages],
    dataset: Dataset,
    protocol: EvaluationProtocol,
    split: str,
    *,
    any_language: bool,
) -> list[str]:
    here, known = languages_in(dataset, protocol, split), known_to_all(models)
    if any_language:  # a translation is read, not the language itself
        return here
    found = [lang for lang in known if lang in here]
    if not found:
        raise UserError(
            f"protocol {protocol.name} finds no language in split {split} of {dataset.path} that the model was "
            f"trained on; it finds: {choices(here)}, trained on: {choices(known)}; ask for one of the former with "
            "--lang to measure it zero-shot"
        )
    return found
