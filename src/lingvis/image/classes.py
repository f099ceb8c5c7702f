"""The classes that a backbone was pre-trained on, as a part of a picture's vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.types import Tokens


class ImageClasses(RecipePart, nn.Module, ABC):
    """Adds to the vectors of pictures a part for the classes that the backbone recognises in them."""

    @abstractmethod
    def scores(self, cells: Tokens) -> Tensor | None:
        """The score of every class, [B, classes]; None if there are no classes."""

    @abstractmethod
    def forward(self, vectors: Tensor, scores: Tensor | None) -> Tensor:
        """[B, dim] and the scores of the classes -> [B, dim]."""

    @abstractmethod
    def imagined(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """Vectors [K, dim] as if the picture showed one more object, of class int64 [K]."""


IMAGE_CLASSES: Registry[type[ImageClasses]] = Registry("classes")


@IMAGE_CLASSES.register("none", "the vector of a picture depends on its cells alone")
class NoClasses(ImageClasses):
    """No classes."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Names need classes."""
        if recipe.data.classes:
            yield (
                "data.classes is true, but image.classes is none; set image.classes.name = named, or data.classes = false"
            )

    def scores(self, cells: Tokens) -> None:
        """No classes, no scores."""

    def forward(self, vectors: Tensor, scores: Tensor | None) -> Tensor:
        return vectors

    def imagined(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """No classes, no imagined pictures."""
        raise ValueError("this model has no classes")


@IMAGE_CLASSES.register("named", "one vector per class of the pre-trained classifier, by their probabilities")
class NamedClasses(ImageClasses):
    """unit vector + sum over classes of p(class) * table[class], p = softmax(classifier(mean of the cells)).

    The convex combination of Norouzi et al. 2014, with learned vectors instead of word vectors, and added to what the
    model sees besides. The classifier is that of the pre-trained backbone. Terms `class_names` and `class_scores`
    train and keep it.
    """

    def __init__(self, *, dim: Count, classifier: nn.Linear | None) -> None:
        super().__init__()
        if classifier is None:
            raise UserError(
                "image.classes named needs a backbone with a classifier of ImageNet classes, such as "
                "efficientnet-lite0; name one in image.backbone.network, or set image.classes.name = none"
            )
        self.classifier = classifier.requires_grad_(True)
        self.table = nn.Parameter(torch.randn(classifier.out_features, dim) * dim**-0.5)

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The classifier belongs to a trained backbone."""
        if recipe.image.backbone.name != "trained":
            yield (
                "image.classes named uses the classifier of a trained backbone, but image.backbone is "
                f"{recipe.image.backbone.name}; set image.backbone.name = trained, or image.classes.name = none"
            )

    def scores(self, cells: Tokens) -> Tensor:
        """Logits, [B, classes]."""
        weight = cells.mask.unsqueeze(-1).to(cells.values.dtype)
        mean = (cells.values * weight).sum(1) / weight.sum(1)
        scores: Tensor = self.classifier(mean)
        return scores

    def forward(self, vectors: Tensor, scores: Tensor | None) -> Tensor:
        assert scores is not None
        return F.normalize(vectors.float(), dim=-1) + scores.float().softmax(dim=-1) @ self.table

    def imagined(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """The vector of the class is added in full to a picture that is weakened by a random factor."""
        weakened = vectors.float() * torch.rand(len(vectors), 1, device=vectors.device)
        return weakened + self.table[classes]
