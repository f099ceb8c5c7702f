"""The text tower of any open_clip model, as teacher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch.nn import functional as F

from lingvis.arrays import Floats
from lingvis.features.backbones.open_clip_models import load_clip, load_tokenizer
from lingvis.progress import ProgressBar
from lingvis.training.text_teachers.contract import TEXT_TEACHERS, TextTeacher

BATCH = 256


@TEXT_TEACHERS.register(
    "open_clip", "the text tower of an open_clip model; needs the extra lingvis[open_clip]"
)
class OpenClipTeacher(TextTeacher):
    """A CLIP text tower. network: as in open_clip:ARCH/PRETRAINED; languages: those that it was trained on.

    The pictures are the vectors of the same network: features of kind `global` of backbone open_clip:ARCH/PRETRAINED.
    """

    def __init__(self, *, network: str, languages: Annotated[list[str], Field(min_length=1)]) -> None:
        self._network, self._languages = network, languages
        self._model: Any = None
        self._tokenizer: Any = None
        self._device = torch.device("cpu")

    def load(self, device: torch.device) -> None:
        """Load the model, downloaded if it is not there yet."""
        self._device = device
        self._model = load_clip(self._network, pretrained=True).to(device)
        self._tokenizer = load_tokenizer(self._network)

    @property
    def languages(self) -> list[str]:
        """Those that the recipe names: no library knows them."""
        return self._languages

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Embeddings by the tower, which does not need the languages."""
        vectors = []
        with ProgressBar("teacher", len(texts)) as bar:
            for first in range(0, len(texts), BATCH):
                tokens = self._tokenizer(list(texts[first : first + BATCH])).to(self._device)
                vectors.append(F.normalize(self._model.encode_text(tokens).float(), dim=-1).cpu().numpy())
                bar.advance(len(tokens), "")
        return np.concatenate(vectors)
