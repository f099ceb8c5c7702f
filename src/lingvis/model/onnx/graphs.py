"""Both sides of a model as modules that take arrays alone, and their graphs in ONNX."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.features.backbones import Backbone
from lingvis.features.encode import HALF_MAX
from lingvis.features.preprocessing import Preprocessing
from lingvis.image.backbones import TrainedBackbone
from lingvis.model.dual_encoder import ImageSide
from lingvis.pooling import GPO, Pooler
from lingvis.pooling.gpo import weigh
from lingvis.pooling.sorting import sort_features
from lingvis.similarity import Similarity
from lingvis.text.words.base import WordPart
from lingvis.text.words.ngrams import HashedNgrams
from lingvis.text.words.spelled import SpelledWordPart
from lingvis.types import SpelledWords, TextBatch, Tokens

OPSET = 18


class TextGraph(nn.Module):
    """ids int64 [B, L] and mask bool [B, L] -> embeddings [B, dim].

    With words from their letters: ids are rows of letters, int64 [words, word_length]. side: a text side or the branch
    of an added language. shared: the parts that a branch uses and does not contain.
    """

    def __init__(self, side: nn.Module, similarity: Similarity, shared: nn.Module | None = None) -> None:
        super().__init__()
        self.side, self.similarity, self.shared = side, similarity, shared
        self.eval()

    def forward(self, ids: Tensor, mask: Tensor, letters: Tensor | None = None) -> Tensor:
        words = None
        if letters is not None:
            words = SpelledWords(torch.arange(letters.shape[0], device=letters.device), letters)
        return self.similarity.prepare_texts(self.side(TextBatch(ids, mask, words=words)))


def exportable_words(words: WordPart) -> WordPart:
    """A word part that computes the same without a search and without a cache."""
    if not isinstance(words, SpelledWordPart):
        return words
    words = copy.deepcopy(words)
    if isinstance(words, HashedNgrams):
        words.table = _SummedRows(words.table.weight, words.buckets)  # type: ignore[assignment]
    return _NumberedWords(words)


class _NumberedWords(WordPart):
    """Words by their place in the list of spelled words, [B, L] -> [B, L, dim]."""

    def __init__(self, words: SpelledWordPart) -> None:
        super().__init__()
        self.words, self.dim = words, words.dim

    def forward(self, batch: TextBatch) -> Tokens:
        assert batch.words is not None
        vectors = self.words.compose(batch.words)
        return batch.tokens(F.embedding(batch.ids, vectors))


class _SummedRows(nn.Module):
    """Rows of a table [words, n] -> their sums [words, dim]; row `empty` counts as zero."""

    def __init__(self, weight: Tensor, empty: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        self.weight[empty] = 0.0

    def forward(self, rows: Tensor) -> Tensor:
        return F.embedding(rows, self.weight).sum(dim=1)


class ImageGraph(nn.Module):
    """pixels uint8 [B, side, side, 3] -> embeddings [B, dim]; network: pixels -> the tokens of `side`."""

    def __init__(self, network: nn.Module, side: ImageSide, similarity: Similarity) -> None:
        super().__init__()
        self.network, self.side, self.similarity = network, side, similarity
        self.eval()

    def forward(self, pixels: Tensor) -> Tensor:
        return self.similarity.prepare_images(self.side(self.network(pixels)))


class StoredPixels(nn.Module):
    """Pixels as features of kind `pixels` store them, for a side that contains its network."""

    def forward(self, pixels: Tensor) -> Tokens:
        return Tokens(pixels.flatten(1).unsqueeze(1), pixels[:, :1, 0, 0] >= 0)


class FrozenNetwork(nn.Module):
    """Pixels -> the vectors that a frozen backbone makes of a whole picture, rounded to float16 as stored features are.

    kind: as of the features; of regions, the whole picture is the only one.
    """

    def __init__(self, backbone: Backbone, preprocessing: Preprocessing, *, kind: str, cells: bool) -> None:
        super().__init__()
        self.network = getattr(backbone, "network", None)  # so that its weights belong to this module
        self._backbone, self._kind, self._cells = (backbone,), kind, cells
        std = torch.tensor(preprocessing.std)
        self.register_buffer("scale", (1 / (255 * std)).view(3, 1, 1))
        self.register_buffer("shift", (torch.tensor(preprocessing.mean) / std).view(3, 1, 1))

    scale: Tensor
    shift: Tensor

    def forward(self, pixels: Tensor) -> Tokens:
        inputs = pixels.permute(0, 3, 1, 2).float() * self.scale - self.shift
        backbone = self._backbone[0]
        if self._cells:
            vectors = backbone.cells(inputs).flatten(2).transpose(1, 2)
            vectors = vectors if self._kind == "grid" else vectors.mean(dim=1, keepdim=True)
        else:
            vectors = backbone.pooled(inputs).unsqueeze(1)
        vectors = vectors.clamp(-HALF_MAX, HALF_MAX).half().float()
        return Tokens(vectors, torch.ones_like(vectors[:, :, 0], dtype=torch.bool))


class FixedSizeGPO(Pooler):
    """GPO of sets that all have `size` vectors: its weights are constants."""

    def __init__(self, gpo: GPO, size: int) -> None:
        super().__init__()
        with torch.no_grad():
            weights = gpo.weights(torch.tensor([size]), size)
        self.register_buffer("weights", weights.clone())

    weights: Tensor

    def forward(self, tokens: Tokens) -> Tensor:
        return weigh(sort_features(tokens), self.weights.expand(tokens.values.shape[0], -1, -1))


def fixed_size(side: ImageSide, network: nn.Module, pixels: Tensor) -> ImageSide:
    """The image side for pictures that all have as many vectors as these pixels."""
    with torch.no_grad():
        size = side.vectors(network(pixels)).values.shape[1]
    pooling = side.pooling
    if isinstance(pooling, GPO) and not pooling.feature_conditioned:
        pooling = FixedSizeGPO(pooling, size)
    backbone = side.backbone
    return ImageSide(
        backbone=backbone.simplified() if isinstance(backbone, TrainedBackbone) else backbone,
        augment=side.augment,
        encoder=side.encoder,
        pooling=pooling,
        classes=side.classes,
    )


def to_onnx(
    graph: nn.Module, inputs: Mapping[str, Tensor], dynamic: Mapping[str, Mapping[int, str]]
) -> bytes:
    """The graph of a module in ONNX; dynamic: names of the dimensions of inputs that may differ from the examples."""
    written = io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # a single operator that ONNX does not have
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # sizes that are constant, and the age of the exporter
            torch.onnx.export(
                graph,
                tuple(inputs.values()),
                written,  # type: ignore[arg-type]
                dynamo=False,  # the other exporter needs onnxscript
                input_names=list(inputs),
                output_names=["embeddings"],
                dynamic_axes={**dynamic, "embeddings": {0: "batch"}},
                opset_version=OPSET,
            )
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return written.getvalue()
