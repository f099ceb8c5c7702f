"""Train the words of a new language towards points of the model's space; nothing of the model itself moves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.model.added_language import Branch
from lingvis.model.dual_encoder import DualEncoder
from lingvis.objectives.contrastive import Contrastive
from lingvis.text.bank import TokenBank
from lingvis.text.words.ngrams import HashedNgrams

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to train; chosen on validation. An epoch is a pass over the sentences, or `steps` batches where these are fewer.

    patience: stop when so many epochs in a row were not better. lr: of the words, falling to zero by a cosine. dropout:
    of word vectors, drop: of the n-grams of a word.
    """

    epochs: int = 12
    steps: int = 40
    patience: int = 4
    batch: int = 128
    lr: float = 1e-2
    dropout: float = 0.3
    drop: float = 0.3
    temperature: float = 0.05
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Targets:
    """Points in the model's space that sentences belong to.

    values: [points, dim], prepared as the model's similarity wants them. of: int64 [sentences], the point of each
    sentence, -1 for none. near: whether a sentence shall lie at its point, beside being nearer to it than to others:
    so with other sentences; a picture has its own part of the space.
    """

    values: Tensor
    of: Ints
    near: bool


@dataclass(frozen=True, slots=True)
class Taught:
    """The best words, when they came about, and how long it took."""

    state: dict[str, Tensor]
    score: float
    epoch: int
    epochs: int


def teach(
    branch: Branch,
    augment: nn.Module,
    bank: TokenBank,
    targets: Sequence[Targets],
    model: DualEncoder,
    *,
    measure: Callable[[], float],
    plan: Plan,
    advance: Callable[[int], None] = lambda epochs: None,
) -> Taught:
    """Train the branch's words and keep those of the epoch that `measure` likes best, the start included.

    Each target adds a contrastive loss over all of its points, and 1 - cosine where sentences shall be near.
    Norms keep the statistics of the many words that the model was trained on.
    """
    objective = Contrastive(temperature=plan.temperature)
    trained = [each for each in branch.words.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=plan.lr)
    norms = [each for each in branch.modules() if isinstance(each, MaskedBatchNorm)]
    for each in branch.modules():
        if isinstance(each, HashedNgrams):
            each.drop = plan.drop
    batches = min(plan.steps, -(-len(bank) // plan.batch))
    total = batches * plan.epochs
    draws = np.random.default_rng(plan.seed)
    torch.manual_seed(plan.seed)
    best = Taught(_copy(branch.words), measure(), 0, 0)
    step = 0
    with _frozen(model):
        for epoch in range(1, plan.epochs + 1):
            branch.train()
            for part in norms:
                part.eval()
            augment.train()
            for rows in like_lengths(bank.rows.lengths, plan.batch, draws)[:batches]:
                for group in optimizer.param_groups:
                    group["lr"] = plan.lr * 0.5 * (1 + np.cos(np.pi * step / total))
                optimizer.zero_grad(set_to_none=True)
                emb = model.similarity.prepare_texts(branch(augment(bank.batch(rows))))
                loss = torch.stack([_loss(each, emb, rows, model, objective) for each in targets]).sum()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(trained, 2.0)
                optimizer.step()
                step += 1
            branch.eval()
            score = measure()
            advance(1)
            if score > best.score:
                best = Taught(_copy(branch.words), score, epoch, epoch)
            if epoch - best.epoch >= plan.patience:
                break
    advance(plan.epochs - epoch)
    branch.words.load_state_dict(best.state)
    return Taught(best.state, best.score, best.epoch, epoch)


def like_lengths(lengths: Ints, size: int, draws: np.random.Generator) -> list[Ints]:
    """All rows in batches of like lengths, drawn anew each time; a smaller batch may be left over."""
    order = draws.permutation(len(lengths))
    # Sorted within portions: batches of like lengths whose company still changes.
    for start in range(0, len(order), 16 * size):
        portion = order[start : start + 16 * size]
        order[start : start + 16 * size] = portion[np.argsort(lengths[portion], kind="stable")]
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    return [batches[number] for number in draws.permutation(len(batches))]


def _loss(target: Targets, emb: Tensor, rows: Ints, model: DualEncoder, objective: Contrastive) -> Tensor:
    """The loss of sentences against all points; sentences without one take no part."""
    points = target.of[rows]
    there = np.flatnonzero(points >= 0)
    if not len(there):
        return emb.sum() * 0.0
    own = torch.from_numpy(points[there]).to(emb.device)
    emb = emb[torch.from_numpy(there).to(emb.device)]
    scores = model.similarity(target.values, emb)
    positives = F.one_hot(own, len(target.values)).T.bool()
    loss: Tensor = objective(scores, positives)
    if target.near:
        loss = loss + (1 - F.cosine_similarity(emb, target.values[own])).mean()
    return loss


def _copy(words: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in words.state_dict().items()}


@contextlib.contextmanager
def _frozen(model: DualEncoder) -> Iterator[None]:
    """The model without gradients of its own; its recurrent layers ready for those that pass through.

    On a GPU a recurrent layer passes gradients in training mode only; it has nothing else that the mode changes.
    """
    before = {each: each.requires_grad for each in model.parameters()}
    recurrent = [each for each in model.modules() if isinstance(each, nn.RNNBase)]
    model.requires_grad_(False)
    try:
        for each in recurrent:
            each.train()
        yield
    finally:
        for each in recurrent:
            each.eval()
        for parameter, wanted in before.items():
            parameter.requires_grad_(wanted)
