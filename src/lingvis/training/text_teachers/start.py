"""The text side of the model that a run starts from, as its teacher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from lingvis.arrays import Floats
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.recipes.schema import Recipe
from lingvis.training.text_teachers.contract import TEXT_TEACHERS, TextTeacher


@TEXT_TEACHERS.register("start", "the text side of the model in start.run, whose image side is copied")
class StartTeacher(TextTeacher):
    """A lingvis model; languages: those that it teaches, [] for all of the model."""

    def __init__(self, *, start_run: str, languages: list[str] = []) -> None:  # noqa: B006 (never changed)
        self._run, self._languages = start_run, languages
        self._model: Embedder | None = None

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The student keeps the image side of its teacher."""
        yield from super().problems(recipe)
        if "image" not in recipe.start.parts:
            yield (
                "teacher.name is start, whose sentences fit its own pictures only; copy its image side with "
                'start.parts=["image"] and start.run=FOLDER'
            )

    def load(self, device: torch.device) -> None:
        """Load the model folder; raises unless it has one vector per sentence."""
        self._model = model = Embedder.load(self._run, device=str(device))
        if not (model.inner_product and model.pooled):
            raise UserError(
                f"teacher {model.name} has no single vector per sentence; name a model with similarity.name = cosine"
            )
        unknown = [lang for lang in self._languages if lang not in model.languages]
        if unknown:
            raise UserError(
                f"teacher.languages names {choices(unknown)}, but model {model.name} has {choices(model.languages)}; "
                "choose from these"
            )

    @property
    def languages(self) -> list[str]:
        """The languages of the recipe, or all of the model."""
        assert self._model is not None
        return self._languages or self._model.languages

    def encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Embeddings by the model."""
        assert self._model is not None
        return self._model.encode_texts(texts, langs)
