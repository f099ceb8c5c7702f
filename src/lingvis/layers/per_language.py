"""One layer per language: each row of a batch passes through the layer of its language."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.types import Runs


class PerLanguageLinear(nn.Module):
    """One linear layer for each language: [B, ..., input_dim] -> [B, ..., dim]."""

    def __init__(self, *, languages: Count, input_dim: Count, dim: Count) -> None:
        super().__init__()
        layers = [nn.Linear(input_dim, dim) for _ in range(languages)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(layers)

    def forward(self, values: Tensor, runs: Runs) -> Tensor:
        """values [B, ..., input_dim] and the languages of the rows -> [B, ..., dim]."""
        return by_language(self.layers, runs, values)

    def lines(self, values: Tensor, langs: Tensor) -> Tensor:
        """values [L, ..., input_dim], each line in one language, and int64 [L] which -> [L, ..., dim].

        Layers of other languages get a gradient of zero, where `forward` gives them none.
        """
        parameters = [layer.parameters() for layer in self.layers]
        weight, bias = (torch.stack(each)[langs] for each in zip(*parameters, strict=True))
        product = torch.baddbmm(bias.unsqueeze(1), values.flatten(1, -2), weight.mT)
        return product.view(*values.shape[:-1], -1)

    def blocks(self, values: Tensor, sizes: Sequence[int]) -> Tensor:
        """values [words, input_dim], of which sizes[n] are of language n, in order -> [words, dim]."""
        parts = torch.split(values, list(sizes))
        return torch.cat([layer(part) for layer, part in zip(self.layers, parts, strict=True)])


def by_language(layers: Sequence[Callable[..., Tensor]] | nn.ModuleList, runs: Runs, *rows: Tensor) -> Tensor:
    """Call each language's layer once with all rows of its language; the results are in the order of the rows.

    Runs are known on the host, so that splitting and joining never waits for a device.
    """
    counts = [count for _, count in runs]
    if sum(counts) != len(rows[0]):
        raise ValueError(f"runs have the language of {sum(counts)} rows, but there are {len(rows[0])} rows")
    if any(lang >= len(layers) for lang, _ in runs):
        raise UserError(
            f"got a sentence in a language that this model has no layer for (it has {len(layers)}); "
            "use one of the languages of its training captions"
        )
    cut = [torch.split(each, counts) for each in rows]
    parts: list[Tensor] = [rows[0]] * len(runs)
    for lang in dict.fromkeys(lang for lang, _ in runs):
        places = [place for place, (each, _) in enumerate(runs) if each == lang]
        results = layers[lang](*(torch.cat([pieces[place] for place in places]) for pieces in cut))
        for place, part in zip(
            places, torch.split(results, [counts[place] for place in places]), strict=True
        ):
            parts[place] = part
    return torch.cat(parts)
