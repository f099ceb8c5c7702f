"""The job of measuring trained models on a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.embedder import Embedder, StoredEmbedder
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import embed, measure
from lingvis.evaluation.examples import examples
from lingvis.evaluation.page import write_page
from lingvis.evaluation.protocols import find_protocol
from lingvis.jobs.train import open_with_features


def evaluate_runs(
    runs: Sequence[Path],
    dataset_path: Path,
    *,
    protocol: str = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    page: Path | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Report of one model, or of the ensemble of several; optionally with a page of example queries.

    Without `languages`, those that the models were trained on and the split has captions in.
    """
    embedders = [Embedder.load(run, device=device) for run in runs]
    opened = [open_with_features(dataset_path, each.features["name"]) for each in embedders]
    models = [StoredEmbedder(each, store) for each, (_, store) in zip(embedders, opened, strict=True)]
    dataset = opened[0][0]
    chosen = find_protocol(protocol)
    wanted = languages or _known(embedders, dataset, chosen.split(split))
    embedded = embed(models, dataset, protocol=chosen, split=split, languages=wanted)
    report = measure(embedded)
    if page is not None:
        write_page(page, report, examples(embedded))
    return report


def _known(embedders: Sequence[Embedder], dataset: Dataset, split: str) -> list[str]:
    here = set(dataset.captions(split).langs)
    known = [lang for lang in embedders[0].languages if all(lang in each.languages for each in embedders)]
    found = [lang for lang in known if lang in here]
    if not found:
        raise UserError(
            f"{dataset.path} has no {split} captions in the model's languages ({', '.join(known) or 'none in common'}); "
            "ask for another language with --lang to see what the model does with it"
        )
    return found
