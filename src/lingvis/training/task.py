"""What is trained: a dual encoder, its objective, and the captions and pictures that they meet in a step."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.image.table import FeatureTable
from lingvis.model import DualEncoder
from lingvis.text.bank import TokenBank
from lingvis.types import Clock


class RetrievalTask(nn.Module):
    """Image-text matching: one step sees a batch of captions and each of their pictures once."""

    def __init__(
        self,
        *,
        model: DualEncoder,
        objective: nn.Module,
        captions: TokenBank,
        pictures: FeatureTable,
        image_of: NDArray[np.int64],
        precision: torch.dtype,
    ) -> None:
        super().__init__()
        self.model, self.objective = model, objective
        self._captions, self._pictures, self._image_of, self._precision = (
            captions,
            pictures,
            image_of,
            precision,
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of every caption."""
        return self._captions.lengths

    def loss(self, rows: NDArray[np.int64], clock: Clock) -> tuple[Tensor, Tensor]:
        """The loss of a batch of captions, and that of a model that cannot tell any two apart."""
        image_of = self._image_of[rows]
        images = np.unique(image_of)
        device = self._pictures.device
        positives = torch.from_numpy(images[:, None] == image_of).to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=self._precision, enabled=self._precision != torch.float32):
            image_emb = self.model.encode_images(self._pictures.fetch(images))
            text_emb = self.model.encode_texts(self._captions.batch(rows))
        scores = self.model.similarity(image_emb.float(), text_emb.float())
        with torch.no_grad():
            blind = self.objective(torch.zeros_like(scores), positives, clock)
        return self.objective(scores, positives, clock), blind
