"""Pre-training of words: sentences about one picture get similar mean word vectors, before the model is trained."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.arrays import Ints
from lingvis.bounds import Count, Positive, Share
from lingvis.errors import UserError
from lingvis.files import write_text
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.progress import note
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.terms.base import Origin
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.latent import Assignment, LatentAttention
from lingvis.training.loop.checkpoint import TrainingState
from lingvis.training.loop.fit import TrainingPlan, copy_weights, fit
from lingvis.training.loop.task import Task, Validation
from lingvis.training.loop.watch import Loss
from lingvis.training.sampling import ImageSampler, Sampler, SentenceTable
from lingvis.training.shared_tokens import shared_tokens
from lingvis.training.word_recall import HeldOutSentences, mean_vector
from lingvis.types import Clock, TextBatch, Tokens

# Pictures per step, with two captions in each of two languages: pairs within a language and across languages. More
# sentences or languages per step mean negatives that are too hard: with all languages at once the vectors collapse to
# one point.
PICTURES = 32
LANGUAGES = 2
PER_LANGUAGE = 2
EVENLY = 1e9  # the temperature of a draw in which all languages are equally likely
PATIENCE = 4  # epochs without a better recall, after which pre-training ends


@dataclass(frozen=True, slots=True)
class PretrainingData:
    """Captions, the stored vectors of their words [size, any] if there are any, and a seed.

    held_out: returns captions of split val, which select the epoch. dim: length of the word vectors in the model.
    log: the file for the numbers of each epoch.
    """

    bank: TokenBank
    held_out: Callable[[], HeldOutSentences]
    vocabulary: Vocabulary
    table: SentenceTable
    vectors: NDArray[np.float32] | None
    dim: int
    seed: int
    device: torch.device
    log: Path


class Pretraining(RecipePart, ABC):
    """A stage before training: it finds a latent vocabulary, trains the words of the new model, or does nothing."""

    def assign(self, data: PretrainingData) -> Assignment | None:
        """The latent vocabulary that the words are built from, or None."""
        return None

    @abstractmethod
    def warm_up(self, words: nn.Module, data: PretrainingData) -> None:
        """Train the word part of a new model."""


PRETRAINING: Registry[type[Pretraining]] = Registry("pre-training")


@PRETRAINING.register("none", "training starts at once")
class NoPretraining(Pretraining):
    """No stage before training."""

    def warm_up(self, words: nn.Module, data: PretrainingData) -> None:
        """Leave the words unchanged."""


@PRETRAINING.register(
    "universal", "the layers of every language learn a common space, word vectors frozen (MULE)"
)
class UniversalPretraining(Pretraining):
    """Sentences about one picture get similar mean word vectors in all languages. Kim et al. 2020."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """It is for one word part."""
        yield from _word_part_problems(recipe, "universal", "universal")

    def __init__(self, *, epochs: Count, lr: Positive) -> None:
        self.epochs = epochs
        self.lr = lr

    def warm_up(self, words: nn.Module, data: PretrainingData) -> None:
        """Train all weights of the word part except its word vectors."""
        _pretrain_on_captions(words, data, epochs=self.epochs, lr=self.lr, frozen=("space.vectors",))


@PRETRAINING.register("latent", "words find their tokens of a shared latent vocabulary (SMALR)")
class LatentPretraining(Pretraining):
    """Hard attention over `tokens` latent tokens, learnt with exploration. Burns et al. 2020, section 3.1."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """It is for one word part."""
        yield from _word_part_problems(recipe, "latent", "hybrid")

    def __init__(self, *, tokens: Count, explore: Share, among: Count, epochs: Count, lr: Positive) -> None:
        self.tokens = tokens
        self.explore = explore
        self.among = among
        self.epochs = epochs
        self.lr = lr

    def assign(self, data: PretrainingData) -> Assignment | None:
        """The latent token of every word, and the tokens' vectors."""
        if data.vectors is None:
            raise UserError(
                "pretraining latent needs word vectors; make some with `lingvis vectors train` and name them in data.vectors"
            )
        torch.manual_seed(data.seed)
        attention = LatentAttention(
            vocabulary=data.vocabulary,
            vectors=data.vectors,
            latent=self.tokens,
            dim=data.dim,
            explore=self.explore,
            among=self.among,
        ).to(data.device)
        attention.start_tokens()
        _pretrain_on_captions(attention, data, epochs=self.epochs, lr=self.lr)
        assignment = attention.eval().assignment()
        special = len(data.vocabulary.special)
        used, shared = assignment.used(special), shared_tokens(assignment, data.held_out(), special)
        note(f"{used} of {self.tokens} latent tokens are used by {data.vocabulary.size - special} words")
        if shared is not None:
            note(f"{shared:.1f} % of translations share a token")
        # Behind the lines of the epochs.
        line = json.dumps({"tokens": self.tokens, "used": used, "shared": shared}) + "\n"
        write_text(data.log, data.log.read_text(encoding="utf-8") + line)
        return assignment

    def warm_up(self, words: nn.Module, data: PretrainingData) -> None:
        """Leave the words unchanged: they start from the latent tokens."""


def _word_part_problems(recipe: Recipe, pretraining: str, words: str) -> Iterator[str]:
    if recipe.text.words.name != words:
        yield (
            f"pretraining {pretraining} is for text.words {words}, but text.words.name is {recipe.text.words.name}; "
            f"set text.words.name = {words}, or pretraining.name = none"
        )


class WordPretraining(Task):
    """Mean word vectors of sentences about one picture become similar.

    Sentences with the same words about different pictures are neither positives nor negatives.

    read: sentence numbers -> the sentences, and int64 [B] numbers that are equal for sentences about one picture.
    objective: of cosine scores [B, B] and positives bool [B, B]; a sentence scores minus infinity with itself.

    Used for the latent vocabulary (Burns et al. 2020, Eq. 1) and for MULE's first stage (Kim et al. 2020).
    """

    def __init__(
        self,
        words: nn.Module,
        *,
        read: Callable[[Ints], tuple[TextBatch, Tensor]],
        objective: Callable[[Tensor, Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.model = words
        self._read = read
        self._objective = objective
        self._losses: list[Tensor] = []
        self._positives = torch.empty(0, 0)

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The objective among the sentences of a batch."""
        batch, groups = self._read(rows)
        tokens: Tokens = self.model(batch)
        emb = F.normalize(mean_vector(tokens), dim=-1)
        itself = torch.eye(len(emb), dtype=torch.bool, device=emb.device)
        positives = (groups.unsqueeze(1) == groups) & ~itself
        ids = batch.ids.sort(dim=-1).values  # a mean does not depend on the order
        alike = (ids.unsqueeze(1) == ids).all(dim=-1)
        scores = (emb @ emb.T).masked_fill(itself | (alike & ~positives), -torch.inf)
        loss = self._objective(scores, positives)
        self._losses.append(loss.detach())
        self._positives = positives
        return Loss({"loss": loss})

    def take_means(self) -> dict[str, float]:
        """`loss`, the mean since the last call, and `blind`, the last loss of a model that maps everything to one point.

        Empty if there was no step.
        """
        if not self._losses:
            return {}
        itself = torch.eye(len(self._positives), dtype=torch.bool, device=self._positives.device)
        equal = torch.zeros_like(itself, dtype=torch.float32).masked_fill(itself, -torch.inf)
        loss = float(torch.stack(self._losses).mean())
        self._losses.clear()
        return {"loss": loss, "blind": float(self._objective(equal, self._positives))}


def pretrain(
    task: WordPretraining,
    sampler: Sampler,
    *,
    epochs: int,
    lr: float,
    seed: int,
    frozen: Sequence[str] = (),
    validate: Callable[[], Validation] | None = None,
) -> None:
    """Train the words of a task; frozen: names of parameters that stay unchanged.

    validate: called at the start and after every epoch; the best weights are kept, be it those of the start: the loss is
    lower for a model that maps everything to one point than for many others. Without it the last ones are kept.
    """
    words = task.model
    trained = [
        parameter
        for name, parameter in words.named_parameters()
        if parameter.requires_grad and name not in frozen
    ]
    start = TrainingState()
    if validate is not None:
        start.best_score, start.best_epoch, start.best = validate().score, 0, copy_weights(words)
    state = fit(
        task=task,
        sampler=sampler,
        # Tables of 40,000 tokens: on a GPU one kernel per parameter instead of ten.
        optimizer=torch.optim.Adam(trained, lr=lr, fused=trained[0].is_cuda),
        schedule=lambda step, epoch: lr,
        plan=TrainingPlan(epochs=epochs, patience=PATIENCE, seed=seed),
        state=start,
        validate=validate,
        label="pre-train words",
    )
    if validate is not None:
        words.load_state_dict(state.best)
    words.zero_grad(set_to_none=True)


def _pretrain_on_captions(
    words: nn.Module, data: PretrainingData, *, epochs: int, lr: float, frozen: Sequence[str] = ()
) -> None:
    """Train a word part on captions; captions of one picture are positives."""
    table = data.table
    if np.bincount(table.groups[table.rows(Origin.HUMAN)]).max() < 2:
        raise UserError(
            "pre-training compares captions of one picture, but every picture has only one; "
            "give more captions, or more languages in data.languages"
        )

    def read(rows: Ints) -> tuple[TextBatch, Tensor]:
        return data.bank.batch(rows), torch.from_numpy(table.groups[rows]).to(data.device)

    task = WordPretraining(words, read=read, objective=TopTriplet(margin=0.05, hardest=10))
    languages = len(np.unique(table.langs[table.rows(Origin.HUMAN)]))
    sampler = ImageSampler(
        captions=table,
        batch_size=PICTURES,
        languages=LANGUAGES,
        together=True,
        temperature=EVENLY,
        per_language=PER_LANGUAGE,
        # However many languages there are, each is seen about as often in an epoch.
        passes=-(-languages // LANGUAGES),
    )
    pretrain(
        task,
        sampler,
        epochs=epochs,
        lr=lr,
        seed=data.seed,
        frozen=frozen,
        validate=_validation(task, data.held_out(), data.log),
    )


def _validation(task: WordPretraining, held_out: HeldOutSentences, log: Path) -> Callable[[], Validation]:
    """A validation by recall across languages, or by the epoch alone; `log` gets a line of JSON per epoch, 0 the start."""
    lines: list[str] = []

    def validate() -> Validation:
        recall = held_out.recall(task.model)
        lines.append(json.dumps({"epoch": len(lines), **task.take_means(), "R@10": recall}) + "\n")
        log.parent.mkdir(parents=True, exist_ok=True)
        write_text(log, "".join(lines))
        return Validation(len(lines) if recall is None else recall)

    return validate
