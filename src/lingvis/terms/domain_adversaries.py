"""Adversarial alignment: discriminators must not tell by an embedding where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from lingvis.bounds import Count, Positive
from lingvis.terms.base import TERMS
from lingvis.terms.gradient_reversal import ramp, turn_gradient
from lingvis.types import Clock

Weights = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]
PAIRS = {
    "intra": (("image", "image_only"), ("text", "pseudo")),
    "cross": (("image", "text"), ("image_only", "pseudo")),
    "transitive": (("image", "pseudo"), ("image_only", "text")),
}


@dataclass(frozen=True, slots=True)
class Domains:
    """Embeddings of the four origins of a step, each [n, dim]: pictures with sentences and those sentences,
    pictures without and what detectors say of them."""

    image: Tensor
    text: Tensor
    image_only: Tensor
    pseudo: Tensor


@TERMS.register(
    "domains", "discriminators must not tell people's captions and pictures from detectors' (A3VSE)"
)
class DomainAdversaries(nn.Module):
    """Six discriminators, each between two of the four origins, and the gradient turned round behind them.

    Domains -> scalar: sum over the pairs of weight * l, l = -mean log D(a) - mean log(1 - D(b)), the binary
    cross entropy of Huang et al. 2019, Eq. 4 with its sign turned: the paper's discriminators maximise, ours are
    trained by the same descent as all else, and gradient reversal makes the encoders do the opposite. Eq. 5 to 8:
    `intra` (0.2 for pictures, 0.1 for sentences), `cross` (0.5, 0.5), `transitive` (0.3, 0.3); a weight of 0
    leaves a discriminator out. Each is a perceptron of one hidden layer: the paper does not say.
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
        self.total_steps, self.eta = total_steps, eta
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

    def forward(self, domains: Domains, clock: Clock) -> Tensor:
        strength = ramp(clock, self.total_steps, self.eta)
        turned = {
            origin: turn_gradient(getattr(domains, origin).float(), strength)
            for origin in Domains.__dataclass_fields__
        }
        total = domains.image.new_zeros((), dtype=turned["image"].dtype)
        for name, (first, second, weight) in self._weights.items():
            judge = self.discriminators[name]
            # softplus(-x) = -log D, softplus(x) = -log(1 - D)
            total = total + weight * (
                F.softplus(-judge(turned[first])).mean() + F.softplus(judge(turned[second])).mean()
            )
        return total
