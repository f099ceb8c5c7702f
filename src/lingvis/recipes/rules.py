"""Rules between the parts of a recipe; each part states its requirements."""

from __future__ import annotations

from collections.abc import Iterator

from lingvis.recipes.schema import Recipe


class RecipePart:
    """A part that recipes name."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Yield one sentence per requirement of this part that the rest of the recipe does not meet."""
        yield from ()


def chunk_problems(recipe: Recipe, reason: str) -> Iterator[str]:
    """The problem of a part that cannot encode a batch in chunks; reason: what needs the whole batch."""
    if recipe.training.chunk:
        yield (
            f"training.chunk is {recipe.training.chunk}, but {reason} the whole batch at once; set training.chunk = 0, or "
            "choose another part"
        )
