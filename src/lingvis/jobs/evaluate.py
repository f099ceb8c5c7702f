"""The job of measuring trained models on a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.embedder import Embedder, StoredEmbedder
from lingvis.evaluation.evaluate import embed, measure
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
    """Report of one model, or of the ensemble of several; optionally with a page of example queries."""
    embedders = [Embedder.load(run, device=device) for run in runs]
    opened = [open_with_features(dataset_path, each.features["name"]) for each in embedders]
    models = [StoredEmbedder(each, store) for each, (_, store) in zip(embedders, opened, strict=True)]
    wanted = languages or None
    embedded = embed(models, opened[0][0], protocol=protocol, split=split, languages=wanted)
    report = measure(embedded)
    if page is not None:
        from lingvis.evaluation.page import examples, write_page

        write_page(page, report, examples(embedded))
    return report
