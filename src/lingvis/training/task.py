"""What is trained: a dual encoder, its objective, and the captions and pictures that meet in a step."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.image.table import FeatureTable
from lingvis.model import DualEncoder
from lingvis.text.bank import TokenBank
from lingvis.training.graphs import GraphedCalls
from lingvis.types import Clock

# Sizes are rounded up to these multiples, so that batches have few different shapes.
LENGTH_MULTIPLE = 4
SIZE_MULTIPLE = 8
IMAGE_MULTIPLE = 16


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
        graphs: bool,
    ) -> None:
        super().__init__()
        self.model, self.objective = model, objective
        self._captions, self._pictures, self._image_of, self._precision = (
            captions,
            pictures,
            image_of,
            precision,
        )
        self._graphs = GraphedCalls(model) if graphs and pictures.resident else None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of every caption."""
        return self._captions.rows.lengths

    def loss(self, rows: NDArray[np.int64], clock: Clock) -> tuple[Tensor, Tensor]:
        """The loss of a batch of captions, and that of a model that cannot tell any two apart.

        Pictures are filled up to a round number with repetitions; a repetition scores minus infinity
        everywhere, so that it is nobody's negative.
        """
        image_of = self._image_of[rows]
        images = np.unique(image_of)
        real = len(images)
        images = np.concatenate([images, np.repeat(images[:1], -real % IMAGE_MULTIPLE)])
        positives = images[:, None] == image_of
        positives[real:] = False
        on_device = torch.from_numpy(positives).to(self._pictures.device, non_blocking=True)
        image_emb, text_emb = self._encode(rows, images)
        scores = self.model.similarity(image_emb.float(), text_emb.float())
        scores = scores.masked_fill(~on_device.any(dim=1, keepdim=True), -torch.inf)
        with torch.no_grad():
            blind = self.objective(torch.where(scores.isinf(), scores, 0.0), on_device, clock)
        return self.objective(scores, on_device, clock), blind

    def _encode(self, rows: NDArray[np.int64], images: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        device = self._pictures.device
        size = self._pictures.rows.longest(images, multiple=SIZE_MULTIPLE)
        length = self._captions.rows.longest(rows, multiple=LENGTH_MULTIPLE)

        def encode(caption_rows: Tensor, image_rows: Tensor) -> tuple[Tensor, Tensor]:
            reduced = self._precision != torch.float32
            with torch.autocast(device.type, dtype=self._precision, enabled=reduced, cache_enabled=False):
                image_emb = self.model.encode_images(self._pictures.gather(image_rows, size))
                text_emb = self.model.encode_texts(self._captions.gather(caption_rows, length))
            return image_emb, text_emb

        inputs = (torch.from_numpy(rows).to(device), torch.from_numpy(images).to(device))
        if self._graphs is None:
            return encode(*inputs)
        return self._graphs((len(rows), len(images), length, size), encode, inputs)
