"""A3VSE's discriminators: an embedding must not reveal which of four domains it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from lingvis.bounds import Count, Positive
from lingvis.terms.base import AUTHORED, TERMS, Origin, Step, Term
from lingvis.terms.gradient_reversal import ramp, reverse_gradient
from lingvis.types import Clock

Weights = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]
PAIRS = {
    "intra": (("image", "image_only"), ("text", "pseudo")),
    "cross": (("image", "text"), ("image_only", "pseudo")),
    "transitive": (("image", "pseudo"), ("image_only", "text")),
}


@TERMS.register(
    "domains", "discriminators between annotated and pseudo-captioned pictures and sentences (A3VSE)"
)
class DomainAdversaries(Term):
    """Six discriminators, each between two of four domains, behind a gradient reversal; 0 without pseudo captions.

    Domains: pictures with human captions (image) and those captions (text), pictures without (image_only) and their
    pseudo captions (pseudo). Value: sum over pairs of weight * l, l = -mean log D(a) - mean log(1 - D(b)), the
    binary cross entropy of Huang et al. 2019, Eq. 4 with the opposite sign: the paper's discriminators maximise,
    these minimise like the rest of the loss, and gradient reversal makes the encoders do the opposite.
    Eq. 5 to 8: `intra` (0.2 for pictures, 0.1 for sentences), `cross` (0.5, 0.5), `transitive` (0.3, 0.3); a weight
    of 0 leaves a discriminator out. Each is a perceptron with one hidden layer (not specified in the paper).
    """

    def __init__(
        self,
        *,
        dim: int,
        total_steps: int,
        intra: Weights,
        cross: Weights,
        transitive: Weights,
        hidden: Count = 512,
        eta: Positive = 10.0,
    ) -> None:
        super().__init__()
        self.total_steps = total_steps
        self.eta = eta
        weights = {"intra": intra, "cross": cross, "transitive": transitive}
        self._weights = {
            f"{first}_{second}": (first, second, weight)
            for kind, pairs in PAIRS.items()
            for (first, second), weight in zip(pairs, weights[kind], strict=True)
            if weight > 0
        }
        self.discriminators = nn.ModuleDict(
            {
                name: nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))
                for name in self._weights
            }
        )

    @classmethod
    def learns_from(cls, options: Mapping[str, Any]) -> tuple[Origin, ...]:
        """All sentences."""
        return tuple(Origin)

    def forward(self, step: Step) -> Tensor:
        human, pseudo = step.of(*AUTHORED), step.of(Origin.PSEUDO)
        if not len(pseudo):
            return step.text_emb.new_zeros(())
        # The rows of each domain, and which of them belong to it: a selection would wait for the device.
        domains = {
            "image": (step.image_emb, human.positives.any(dim=1)),
            "text": (human.text_emb, None),
            "image_only": (step.image_emb, pseudo.positives.any(dim=1)),
            "pseudo": (pseudo.text_emb, None),
        }
        strength = step.clock.value(self.strength)
        reversed_ = {name: (reverse_gradient(emb, strength), own) for name, (emb, own) in domains.items()}
        total = step.image_emb.new_zeros(())
        for name, (first, second, weight) in self._weights.items():
            discriminator = self.discriminators[name]
            # softplus(-x) = -log D, softplus(x) = -log(1 - D)
            total = total + weight * (
                _mean(F.softplus(-discriminator(reversed_[first][0])), reversed_[first][1])
                + _mean(F.softplus(discriminator(reversed_[second][0])), reversed_[second][1])
            )
        return total

    def strength(self, clock: Clock) -> float:
        """The factor of the reversed gradient."""
        return ramp(clock, self.total_steps, self.eta)


def _mean(costs: Tensor, own: Tensor | None) -> Tensor:
    """The mean of costs [n, 1] over the rows that `own`, bool [n], is true for; None: over all."""
    if own is None:
        return costs.mean()
    return torch.where(own, costs.squeeze(1), 0.0).sum() / own.sum().clamp(min=1)
