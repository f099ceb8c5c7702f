"""Evaluate trained models on a dataset: `lingvis.evaluate`, `lingvis evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, check_list, choices
from lingvis.evaluation.clc.options import QueryOptions, choose_query_method, known_to_all
from lingvis.evaluation.evaluate import measure, score_pools
from lingvis.evaluation.pools import languages_in
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.report.coefficients import draw_pooling
from lingvis.evaluation.report.examples import examples
from lingvis.evaluation.report.map import draw_pool
from lingvis.evaluation.report.page import write_page
from lingvis.evaluation.result import Report
from lingvis.features.store import without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.encoder import with_torch
from lingvis.model.onnx.embedder import OnnxEmbedder
from lingvis.model.stored import StoredImages
from lingvis.pretrained import find_model, is_shipped
from lingvis.text.translators import Translator

OpenedModel = Embedder | OnnxEmbedder


def evaluate(
    model: OpenedModel | Path | str | Sequence[OpenedModel | Path | str],
    dataset: Dataset | Path | str,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    consistency: str | None = None,
    save_consistency: bool = False,
    translate_to: str | None = None,
    translator: str | Translator | None = None,
    page: Path | str | None = None,
    map: Path | str | None = None,
    coefficients: Path | str | None = None,
    device: str | None = None,
) -> Report:
    """Measure recalls in both directions for every language; several models are measured as an ensemble.

    model: a model folder, the name of a model that comes with lingvis, or an opened model; or several. dataset: a
    dataset folder with the model's features. protocol: a name of `lingvis.evaluation.protocols.PROTOCOLS`, or a
    protocol. split: by default the first of the protocol. languages: by default all of the split that the models were
    trained on (with translate_to, all of the split). consistency: score every query together with its translations:
    mean (CLC-A), or learned on split val (CLC-C); save_consistency: store the learned weights in the model folder.
    translate_to: replace every query by its translation in this language. translator: its registered name, or a
    function (sentences, source, target) -> sentences; by default the parallel sentences of the dataset are used. page:
    an HTML file to write, with the numbers and example queries. map: a PNG file to write, with pictures and sentences
    of the first language in a plane. coefficients: a PNG file to write, with the learned weights of pooling gpo. device:
    cpu or cuda, for models given as folders.
    """
    models = [model] if isinstance(model, OpenedModel | Path | str) else list(model)
    if not models:
        raise UserError("no model to evaluate; give at least one")
    check_list("languages", languages, "languages")
    chosen = find_protocol(protocol)
    chosen_split = chosen.split(split)
    options = QueryOptions(
        consistency=consistency,
        translate_to=translate_to,
        translator=translator,
        save_in=_folder(models[0]) if save_consistency else None,
    )
    options.check(chosen_split, len(models))
    whole = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    opened = [StoredImages.open(with_torch(each, device), whole) for each in models]
    usable = without_broken(whole, [each.store for each in opened])
    measured = languages or (
        languages_in(usable, chosen, chosen_split)  # the model encodes the translation, not the original
        if translate_to is not None
        else measured_languages(opened, usable, chosen, chosen_split)
    )
    queries = choose_query_method(
        options, opened, usable, protocol=chosen, split=chosen_split, languages=measured
    )
    scored = score_pools(
        opened, usable, protocol=chosen, split=chosen_split, languages=measured, queries=queries
    )
    report = measure(scored)
    if page is not None:
        write_page(Path(page), report, examples(scored))
    if map is not None:
        draw_pool(scored, Path(map))
    if coefficients is not None:
        draw_pooling(opened, scored.pools, Path(coefficients))
    return report


def _folder(model: OpenedModel | Path | str) -> Path:
    if isinstance(model, OpenedModel):
        raise UserError("`save_consistency` needs the model folder; give its path instead of an opened model")
    folder = find_model(model)
    if is_shipped(folder):
        raise UserError(
            f"`save_consistency` writes into the model folder, but {folder.name} is part of lingvis; copy {folder} and "
            "evaluate the copy"
        )
    return folder


def measured_languages(
    models: Sequence[StoredImages], dataset: Dataset, protocol: EvaluationProtocol, split: str
) -> list[str]:
    """The languages of the split that all models were trained on; raises if there are none."""
    available, known = languages_in(dataset, protocol, split), known_to_all(models)
    common = [lang for lang in known if lang in available]
    if not common:
        raise UserError(
            f"protocol {protocol.name} finds no language in split {split} of {dataset.path} that the model was "
            f"trained on; it finds: {choices(available)}, trained on: {choices(known)}; name one of the first in "
            "`languages` to measure it zero-shot"
        )
    return common
