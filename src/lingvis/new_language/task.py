"""Train the words of a new language towards points of the model's space; the model itself does not change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.arrays import Ints
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.model.added_language import Branch
from lingvis.model.dual_encoder import DualEncoder
from lingvis.new_language.targets import Targets
from lingvis.objectives.contrastive import Contrastive
from lingvis.text.bank import TokenBank
from lingvis.training.loop.checkpoint import TrainingState
from lingvis.training.loop.fit import TrainingPlan, copy_weights, fit
from lingvis.training.loop.optimizer import make_schedule
from lingvis.training.loop.task import Task, Validation
from lingvis.training.loop.watch import Loss
from lingvis.training.sampling import Sampler
from lingvis.types import Clock

CLIP = 2.0  # largest norm of the gradient
BUCKET = 16  # batches that are sorted by length together


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachingPlan:
    """How to train a new language; values were chosen on validation.

    An epoch is a pass over the sentences, but at most `steps` batches. patience: stop after this number of epochs
    without a better score. lr: of the words, with a cosine schedule to zero. dropout: of word vectors; drop: share of
    a word's n-grams to leave out. temperature: of the contrastive loss.
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


class TeachingTask(Task):
    """The words of a new language; the rest of the model passes gradients through and stays unchanged.

    Each target adds a contrastive loss over all of its points, and 1 - cosine if its sentences are pulled to their points.
    Batch norms keep the statistics of the many words that the model was trained on.
    """

    def __init__(
        self,
        *,
        branch: Branch,
        augment: nn.Module,
        bank: TokenBank,
        targets: Sequence[Targets],
        model: DualEncoder,
        temperature: float,
    ) -> None:
        super().__init__()
        self.model = branch.words
        self.branch = branch
        self.augment = augment
        self._bank = bank
        self._targets = targets
        self._encoder = (
            model,
        )  # in a tuple, so that it is not a submodule: neither its weights nor its mode change
        self._objective = Contrastive(temperature=temperature)

    def train(self, mode: bool = True) -> TeachingTask:
        """Set training mode; batch norms stay in inference mode."""
        super().train(mode)
        for part in self.branch.modules():
            if isinstance(part, MaskedBatchNorm):
                part.eval()
        return self

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The sum over all targets."""
        similarity = self._encoder[0].similarity
        sentences = self.branch(self.augment(self._bank.batch(rows)))
        emb = similarity.prepare_texts(sentences)
        losses = [self._target_loss(target, emb, rows) for target in self._targets]
        return Loss({"loss": torch.stack(losses).sum()})

    def _target_loss(self, target: Targets, emb: Tensor, rows: Ints) -> Tensor:
        """The loss of sentences [B, dim] against all points; sentences without a point are left out."""
        points = target.of[rows]
        targeted = np.flatnonzero(points >= 0)
        if not len(targeted):
            return emb.sum() * 0.0
        point_of = torch.from_numpy(points[targeted]).to(emb.device)
        emb = emb[torch.from_numpy(targeted).to(emb.device)]
        scores = self._encoder[0].similarity(target.values, emb)  # [points, sentences]
        positives = F.one_hot(point_of, len(target.values)).T.bool()
        loss: Tensor = self._objective(scores, positives)
        if target.near:
            loss = loss + (1 - F.cosine_similarity(emb, target.values[point_of])).mean()
        return loss


class LengthSampler(Sampler):
    """Batches of sentences of similar lengths, at most `steps` per epoch; a smaller batch may be left over.

    Shuffled sentences are cut into stretches of BUCKET batches, each stretch is sorted by length, and the batches are
    shuffled: a sentence has other neighbours in every epoch.
    """

    def __init__(self, lengths: Ints, *, size: int, steps: int) -> None:
        self._lengths = lengths
        self._size = size
        self._batches = -(-len(lengths) // size)
        self._steps = steps

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return min(self._steps, self._batches)

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch; all epochs draw from one generator in turn."""
        draws = np.random.default_rng(seed)
        for _ in range(epoch):
            draws.permutation(len(self._lengths))
            draws.permutation(self._batches)
        order = draws.permutation(len(self._lengths))
        stretch = BUCKET * self._size
        for start in range(0, len(order), stretch):
            portion = order[start : start + stretch]
            order[start : start + stretch] = portion[np.argsort(self._lengths[portion], kind="stable")]
        batches = [order[start : start + self._size] for start in range(0, len(order), self._size)]
        return [batches[number] for number in draws.permutation(self._batches)][: self._steps]


def teach(
    task: TeachingTask,
    sampler: LengthSampler,
    encoder: DualEncoder,
    *,
    measure: Callable[[], float],
    plan: TeachingPlan,
    advance: Callable[[int], None],
) -> list[float]:
    """Train the words and restore the epoch with the highest `measure`; returns the measure after each epoch.

    The first value is that of the initial words. advance: called with 1 after every epoch.
    """
    torch.manual_seed(plan.seed)
    task.eval()
    scores = [measure()]
    state = TrainingState(best_score=scores[0], best_epoch=0, best=copy_weights(task.model))

    def validate() -> Validation:
        scores.append(measure())
        advance(1)
        return Validation(scores[-1])

    _fit(task, sampler, encoder, plan, epochs=plan.epochs, state=state, validate=validate)
    task.model.load_state_dict(state.best)
    task.eval()
    return scores


def teach_epochs(
    task: TeachingTask, sampler: LengthSampler, encoder: DualEncoder, *, epochs: int, plan: TeachingPlan
) -> None:
    """Train the words for a number of epochs, as the first ones of the plan."""
    torch.manual_seed(plan.seed)
    _fit(task, sampler, encoder, plan, epochs=epochs, state=TrainingState(), validate=None)
    task.eval()


def _fit(
    task: TeachingTask,
    sampler: LengthSampler,
    encoder: DualEncoder,
    plan: TeachingPlan,
    *,
    epochs: int,
    state: TrainingState,
    validate: Callable[[], Validation] | None,
) -> None:
    """Train at most `epochs` of the plan's epochs."""

    with _frozen(encoder):
        fit(
            task=task,
            sampler=sampler,
            optimizer=torch.optim.Adam([p for p in task.model.parameters() if p.requires_grad], lr=plan.lr),
            schedule=make_schedule(
                "cosine",
                lr=plan.lr,
                epochs=(),
                factor=1.0,
                warmup_epochs=(),
                total_epochs=plan.epochs,
                steps_per_epoch=sampler.batch_count(),
            ),
            plan=TrainingPlan(epochs=epochs, patience=plan.patience, clip=CLIP, seed=plan.seed),
            state=state,
            validate=validate,
            label=None,
        )


@contextlib.contextmanager
def _frozen(model: DualEncoder) -> Iterator[None]:
    """Freeze the model's weights, while gradients pass through its recurrent layers.

    On a GPU a recurrent layer passes gradients in training mode only; the mode has no other effect on it.
    """
    before = {parameter: parameter.requires_grad for parameter in model.parameters()}
    recurrent = [layer for layer in model.modules() if isinstance(layer, nn.RNNBase)]
    model.requires_grad_(False)
    try:
        for layer in recurrent:
            layer.train()
        yield
    finally:
        for layer in recurrent:
            layer.eval()
        for parameter, trained in before.items():
            parameter.requires_grad_(trained)
