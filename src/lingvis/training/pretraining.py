"""What the words learn before the model is trained: which sentences mean the same, by their averaged vectors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.bounds import Count, Positive, Share
from lingvis.errors import UserError
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.progress import ProgressBar
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.terms.base import Origin
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.latent import Assignment, LatentAttention, pretrain
from lingvis.training.sampling import ImageSampler, SentenceTable
from lingvis.types import TextBatch

# Pictures a step, each with two captions in two of its languages: pairs of one language and across languages. More
# sentences a step give harder negatives, from which nothing is learnt: with all languages at once the vectors fall
# into one point.
PICTURES, LANGUAGES, PER_LANGUAGE = 32, 2, 2


@dataclass(frozen=True, slots=True)
class Material:
    """What pre-training learns from: the captions, the stored vectors of their words [size, any], and a seed.

    dim: of the word vectors that the model works with.
    """

    bank: TokenBank
    vocabulary: Vocabulary
    table: SentenceTable
    vectors: NDArray[np.float32] | None
    dim: int
    seed: int
    device: torch.device


class Pretraining(Protocol):
    """Learns something before the words exist, with the words as they are at the start, or nothing."""

    def assign(self, material: Material) -> Assignment | None: ...

    def warm_up(self, words: nn.Module, material: Material) -> None: ...


PRETRAINING: Registry[type[Pretraining]] = Registry("pre-training")


@PRETRAINING.register("none", "training starts at once")
class NoPretraining:
    """Nothing."""

    def assign(self, material: Material) -> Assignment | None:
        """There is no latent vocabulary."""
        return None

    def warm_up(self, words: nn.Module, material: Material) -> None:
        """The words stay as they are."""


@PRETRAINING.register(
    "universal", "the layers of every language learn a common space, word vectors frozen (MULE)"
)
class UniversalPretraining(RecipePart):
    """Sentences about one picture lie near in any language, by their averaged word vectors. Kim et al. 2020."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """It is for one word part."""
        yield from _word_part_problems(recipe, "universal", "universal")

    def __init__(self, *, epochs: Count, lr: Positive) -> None:
        self.epochs, self.lr = epochs, lr

    def assign(self, material: Material) -> Assignment | None:
        """There is no latent vocabulary."""
        return None

    def warm_up(self, words: nn.Module, material: Material) -> None:
        """Train all of the words but their vectors."""
        _learn(words, material, epochs=self.epochs, lr=self.lr, frozen=("space.vectors",))


@PRETRAINING.register("latent", "words find their tokens of a shared latent vocabulary (SMALR)")
class LatentPretraining(RecipePart):
    """Hard attention over `tokens` latent tokens, learnt with exploration. Burns et al. 2020, section 3.1."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """It is for one word part."""
        yield from _word_part_problems(recipe, "latent", "hybrid")

    def __init__(self, *, tokens: Count, explore: Share, among: Count, epochs: Count, lr: Positive) -> None:
        self.tokens, self.explore, self.among, self.epochs, self.lr = tokens, explore, among, epochs, lr

    def assign(self, material: Material) -> Assignment | None:
        """Which latent token every word has, and the tokens' vectors."""
        if material.vectors is None:
            raise UserError(
                "pretraining latent needs word vectors; make some with `lingvis vectors train` and name them in data.vectors"
            )
        torch.manual_seed(material.seed)
        attention = LatentAttention(
            vocabulary=material.vocabulary,
            vectors=material.vectors,
            latent=self.tokens,
            dim=material.dim,
            explore=self.explore,
            among=self.among,
        ).to(material.device)
        _learn(attention, material, epochs=self.epochs, lr=self.lr)
        assignment = attention.eval().assignment()
        special = len(material.vocabulary.special)
        used, words = assignment.used(special), material.vocabulary.size - special
        print(f"note: {used} of {self.tokens} latent tokens are used by {words} words", file=sys.stderr)
        return assignment

    def warm_up(self, words: nn.Module, material: Material) -> None:
        """The words start from the latent tokens already."""


def _word_part_problems(recipe: Recipe, pretraining: str, words: str) -> Iterator[str]:
    if recipe.text.words.name != words:
        yield (
            f"pretraining {pretraining} is for text.words {words}, but text.words.name is {recipe.text.words.name}; "
            f"set text.words.name = {words}, or pretraining.name = none"
        )


def _learn(
    words: nn.Module, material: Material, *, epochs: int, lr: float, frozen: Sequence[str] = ()
) -> None:
    table = material.table
    if np.bincount(table.groups[table.rows(Origin.HUMAN)]).max() < 2:
        raise UserError(
            "pre-training compares captions of one picture, but every picture has only one; "
            "give more captions, or more languages in data.languages"
        )
    sampler = ImageSampler(
        captions=table, batch_size=PICTURES, languages=LANGUAGES, per_language=PER_LANGUAGE
    )
    objective = TopTriplet(margin=0.05, hardest=10)
    with ProgressBar("pre-train words", epochs * sampler.batch_count()) as bar:

        def batches() -> Iterator[tuple[TextBatch, Tensor]]:
            for epoch in range(epochs):
                for rows in sampler.epoch(material.seed, epoch):
                    bar.advance(1, f"epoch {epoch + 1}/{epochs}")
                    groups = torch.from_numpy(table.groups[rows]).to(material.device)
                    yield material.bank.batch(rows), groups

        pretrain(words, batches(), objective=objective, lr=lr, frozen=frozen)
