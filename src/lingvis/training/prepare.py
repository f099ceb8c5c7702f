"""A recipe and a dataset -> everything that a training step touches, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from lingvis.data.dataset import Dataset
from lingvis.device import choose_precision
from lingvis.errors import UserError
from lingvis.evaluation.pools import EvaluationPool, pools
from lingvis.evaluation.protocols import find_protocol
from lingvis.features.description import describe_features
from lingvis.features.store import FeatureStore
from lingvis.image.pixels import PIXEL_AUGMENTS, KeepPixels, PixelAugment
from lingvis.image.table import FeatureTable
from lingvis.model.build import build_model, build_tokenizer, make_part
from lingvis.model.dual_encoder import DualEncoder
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.processes.exchange import take_weights_of_first, tensor_of_first
from lingvis.processes.group import process_count
from lingvis.recipes.schema import Recipe
from lingvis.terms import TERMS
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers import Tokenizer
from lingvis.text.words.latent import Assignment
from lingvis.training.batches import Batches
from lingvis.training.build import build_pretraining, build_sampler, build_terms
from lingvis.training.pixels import AugmentedPixels, may_be_mirrored
from lingvis.training.pretraining import PretrainingData
from lingvis.training.sampling import ClassSampler, PseudoSampler, Sampler
from lingvis.training.sources import PSEUDO_SOURCES
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.start.model import (
    check_dims,
    check_image_weights,
    fit_translator,
    open_source,
    take_parts,
)
from lingvis.training.start.words import kept_assignment, stored_vectors, vocabulary_sentences, words_start
from lingvis.training.task import RetrievalTask
from lingvis.training.text_teachers import TEXT_TEACHERS, NoTeacher, TextTeacher, find_targets
from lingvis.training.word_recall import HeldOutSentences

PICTURES_AT_ONCE = 256
PRETRAINING_LOG = "pretraining.jsonl"


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A model, its training task and the batches that it learns from."""

    embedder: Embedder
    task: RetrievalTask
    sampler: Sampler


def prepare(
    recipe: Recipe, dataset: Dataset, store: FeatureStore, out: Path, device: torch.device
) -> PreparedRun:
    """Build everything that a step touches; results of pre-training are kept in `out` for a resumed run."""
    languages = recipe.data.languages or _languages(recipe, dataset)
    sentences = collect_sentences(recipe, dataset, languages, device)
    # Raises now, not after an epoch, if captions are missing.
    validation = pools(dataset, find_protocol("all"), "val", languages)
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(*vocabulary_sentences(recipe, dataset, sentences))
    bank = TokenBank(
        tokenizer=tokenizer, texts=sentences.texts, langs=sentences.langs, languages=languages, device=device
    )
    pictured = any(term.weight and TERMS.get(term.name).compares_pictures for term in recipe.terms.values())
    table = FeatureTable(
        values=store.values,
        offsets=store.offsets,
        rows=store.index(sentences.images if pictured else []),
        device=device,
    )
    pixels: PixelAugment = make_part(PIXEL_AUGMENTS, recipe.image.pixels)
    pictures = (
        table
        if isinstance(pixels, KeepPixels)
        else AugmentedPixels(table, pixels, may_be_mirrored(sentences))
    )
    teacher: TextTeacher = make_part(TEXT_TEACHERS, recipe.teacher, start_run=recipe.start.run)
    targets = None if isinstance(teacher, NoTeacher) else find_targets(teacher, sentences, device)
    # The batch norms of a network that follow the batches cannot leave out fillers.
    follows = recipe.image.backbone.options.get("norms") == "running"
    if follows and process_count() > 1:
        raise UserError(
            "image.backbone.norms = running needs the whole batch in one process; train with one, or set "
            "image.backbone.norms = frozen"
        )
    batches = Batches(sentences, bank, pictures, targets=targets, pictured=pictured, filled=not follows)
    data = PretrainingData(
        bank=bank,
        held_out=lambda: _held_out(validation, tokenizer, languages, device),
        vocabulary=tokenizer.vocabulary,
        table=batches.table,
        vectors=stored_vectors(recipe, dataset, tokenizer.vocabulary),
        dim=recipe.text.words.options.get("dim", 0),
        seed=recipe.training.seed,
        device=device,
        log=out / PRETRAINING_LOG,
    )
    model = _start_model(recipe, dataset, store, data, languages, out)
    check_dims(model, None if targets is None else targets.dim)
    if not pictured:
        check_image_weights(model, recipe.start.parts)
        model.image.requires_grad_(False)
    sampler = build_sampler(recipe, batches.table)
    if recipe.pseudo.name != "none":
        sampler = PseudoSampler(
            sampler,
            batches.table,
            pictures=recipe.training.batch_size,
            one_each=PSEUDO_SOURCES.get(recipe.pseudo.name).one_each,
        )
    if recipe.data.classes:
        sampler = ClassSampler(sampler, batches.table, classes=recipe.training.batch_size)
    terms = build_terms(
        recipe,
        model,
        languages=len(languages),
        pictures=len(sentences.images),
        total_steps=recipe.training.epochs * sampler.batch_count(),
    )
    task = RetrievalTask(
        model=model,
        terms=terms,
        batches=batches,
        mask_id=tokenizer.vocabulary.mask,
        precision=choose_precision(recipe.training.precision, device),
        graphs=recipe.training.graphs,
        chunk=recipe.training.chunk,
        known_classes=_class_scores(model, table) if recipe.data.classes else None,
    ).to(device)
    take_weights_of_first(task)
    embedder = Embedder(
        name=out.resolve().name,
        model=model,
        tokenizer=tokenizer,
        features=describe_features(store),
        languages=languages,
        device=device,
    )
    return PreparedRun(embedder, task, sampler)


def _languages(recipe: Recipe, dataset: Dataset) -> list[str]:
    """All languages of the captions that the run may learn from."""
    return (dataset.with_translations() if recipe.data.translated else dataset).languages


def _held_out(
    validation: Sequence[EvaluationPool], tokenizer: Tokenizer, languages: Sequence[str], device: torch.device
) -> HeldOutSentences:
    """Captions of split val, tokenised."""
    names = dict.fromkeys(name for pool in validation for name in pool.images)
    numbers = {name: number for number, name in enumerate(names)}
    bank = TokenBank(
        tokenizer=tokenizer,
        texts=[text for pool in validation for text in pool.texts],
        langs=[pool.lang for pool in validation for _ in pool.texts],
        languages=languages,
        device=device,
    )
    groups = [numbers[pool.images[image]] for pool in validation for image in pool.image_of.tolist()]
    return HeldOutSentences(bank, np.asarray(groups, np.int64))


@torch.inference_mode()
def _class_scores(model: DualEncoder, table: FeatureTable) -> torch.Tensor:
    """The scores of classes for every picture by the model before training, float16 [pictures, classes]."""
    model.eval()
    rows = np.array_split(np.arange(len(table)), -(-len(table) // PICTURES_AT_ONCE))
    scores = [model.image.class_scores(table.batch(part)).half() for part in rows]
    model.train()
    return torch.cat(scores)


def _start_model(
    recipe: Recipe,
    dataset: Dataset,
    store: FeatureStore,
    data: PretrainingData,
    languages: Sequence[str],
    out: Path,
) -> DualEncoder:
    """Build the initial model: with parts of another run, and with pre-trained words."""
    pretraining = build_pretraining(recipe)
    start = words_start(recipe, data.vocabulary, data.vectors)
    assignment = kept_assignment(out, lambda: pretraining.assign(data))
    if assignment is not None:
        # Each process finds its own, and on GPUs equal seeds end with different ones.
        start["assignment"] = Assignment(
            token_of=tensor_of_first(assignment.token_of), vectors=tensor_of_first(assignment.vectors)
        )
    fresh = not (out / CHECKPOINT).exists()  # a checkpoint has all weights
    # A resumed run needs the parts as well: classes before training and the length of embeddings come from them.
    source = open_source(recipe, store)
    if fresh and source is not None and data.vectors is not None:
        start |= fit_translator(recipe, dataset, source, data.vocabulary, data.vectors, data.device)
    model = build_model(
        recipe,
        feature_dim=store.dim,
        vocabulary=data.vocabulary,
        seed=recipe.training.seed,
        languages=len(languages),
        start=start,
    ).to(data.device)
    if source is not None:
        take_parts(model, source, recipe.start.parts)
    if fresh:
        pretraining.warm_up(model.text.words, data)
    return model
