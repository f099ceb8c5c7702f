"""The dual encoder: pictures and sentences -> one space."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lingvis.image.augment import ImageAugment
from lingvis.image.backbones import ImageBackbone
from lingvis.image.classes import ImageClasses
from lingvis.image.encoders import ImageEncoder
from lingvis.pooling import Pooler
from lingvis.similarity import Similarity
from lingvis.text.augment import TextAugment
from lingvis.text.encoders import TextEncoder
from lingvis.text.heads import TextHead
from lingvis.text.words import WordPart
from lingvis.types import ImageStates, TextBatch, TextStates, Tokens


class ImageSide(nn.Module):
    """Tokens of stored features -> vectors of pictures [B, dim]; `vectors` stops before pooling."""

    def __init__(
        self,
        *,
        backbone: ImageBackbone,
        augment: ImageAugment,
        encoder: ImageEncoder,
        pooling: Pooler,
        classes: ImageClasses,
    ) -> None:
        super().__init__()
        self.backbone, self.augment, self.encoder = backbone, augment, encoder
        self.pooling, self.classes = pooling, classes

    @property
    def dim(self) -> int:
        """Length of a picture's vector."""
        return self.pooling.output_dim(self.encoder.dim)

    def forward(self, tokens: Tokens) -> Tensor:
        return self.states(tokens).vectors

    def states(self, tokens: Tokens) -> ImageStates:
        """The vectors of pictures, and the scores of their classes."""
        cells: Tokens = self.backbone(tokens)
        pooled: Tensor = self.pooling(self.encoder(self.augment(cells)))
        scores = self.classes.scores(cells)
        return ImageStates(self.classes(pooled, scores), scores)

    def class_scores(self, tokens: Tokens) -> Tensor:
        """The scores of classes alone, [B, classes]."""
        scores = self.classes.scores(self.backbone(tokens))
        assert scores is not None
        return scores

    def vectors(self, tokens: Tokens) -> Tokens:
        """The vectors of the joint space before pooling."""
        encoded: Tokens = self.encoder(self.augment(self.backbone(tokens)))
        return encoded


class TextSide(nn.Module):
    """Tokenised sentences -> pooled and projected vectors [B, dim]; special: ids of tokens that are not words."""

    special: Tensor

    def __init__(
        self,
        *,
        augment: TextAugment,
        words: WordPart,
        encoder: TextEncoder,
        pooling: Pooler,
        head: TextHead,
        special: Sequence[int],
    ) -> None:
        super().__init__()
        self.augment, self.words, self.encoder = augment, words, encoder
        self.pooling, self.head = pooling, head
        self.register_buffer("special", torch.tensor(special), persistent=False)

    @property
    def per_language(self) -> bool:
        """Whether a part has one layer per language, so that the computation depends on the languages of a batch."""
        return self.words.per_language or self.encoder.per_language or self.head.per_language

    def forward(self, batch: TextBatch) -> Tensor:
        sentence: Tensor = self.head(self.pooling(self.vectors(batch)), batch.runs)
        return sentence

    def vectors(self, batch: TextBatch) -> Tokens:
        """The words in context before pooling."""
        states: Tokens = self.encoder(self.words(self.augment(batch)))
        return states

    def states(self, batch: TextBatch) -> TextStates:
        """The same with all intermediate results; nothing is augmented here."""
        words = self.words(batch)
        states = self.encoder(words)
        is_word = batch.mask & ~torch.isin(batch.ids, self.special)
        is_word = torch.where(is_word.any(dim=1, keepdim=True), is_word, batch.mask)
        sentence = self.head(self.pooling(states), batch.runs)
        return TextStates(words, is_word, masked_mean(words, is_word), states, sentence)


def masked_mean(tokens: Tokens, mask: Tensor) -> Tensor:
    """Mean of the vectors where `mask`, bool [B, L], is true: [B, D]."""
    weight = mask.unsqueeze(-1).to(tokens.values.dtype)
    return (tokens.values * weight).sum(1) / weight.sum(1)


class DualEncoder(nn.Module):
    """Two sides and the similarity between them; independent of files, recipes and training."""

    def __init__(self, *, image: ImageSide, text: TextSide, similarity: Similarity) -> None:
        super().__init__()
        self.image, self.text, self.similarity = image, text, similarity

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self.similarity.output_dim(self.image.dim)

    def encode_images(self, tokens: Tokens) -> Tensor:
        """[B, L, D] features -> embeddings to store and compare, float32 [B, dim].

        With a similarity of sets of vectors: [B, L, dim].
        """
        side = self.image(tokens) if self.similarity.pooled else self.image.vectors(tokens)
        return self.similarity.prepare_images(side)

    def encode_with_classes(self, tokens: Tokens, classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings [B, dim]; embeddings [K, dim] of these pictures as if each showed one of `classes` [K] too; and the
        scores of classes [B, classes].

        The pictures are only a background there: they learn nothing from the classes.
        """
        states = self.image.states(tokens)
        assert states.class_scores is not None
        background = states.vectors.detach()[
            torch.arange(len(classes), device=classes.device) % len(states.vectors)
        ]
        imagined = self.image.classes.imagined(background, classes)
        prepare = self.similarity.prepare_images
        return prepare(states.vectors), prepare(imagined), states.class_scores

    def encode_texts(self, batch: TextBatch) -> Tensor:
        """Tokenised sentences -> embeddings, float32 [B, dim], or [B, L, dim] as above."""
        side = self.text(batch) if self.similarity.pooled else self.text.vectors(batch)
        return self.similarity.prepare_texts(side)

    def encode_with_states(self, batch: TextBatch) -> tuple[Tensor, TextStates]:
        """Embeddings as above and all intermediate results of the text side; nothing is augmented."""
        states = self.text.states(batch)
        side = states.sentence if self.similarity.pooled else states.states
        return self.similarity.prepare_texts(side), states

    def parameter_counts(self) -> dict[str, int]:
        """Number of values of each side, of the whole model, and of a deployed model.

        test: without words whose vectors are looked up in a precomputed table, as in Burns et al. 2020. table:
        the number of values of that table, or 0.
        """
        counts = {
            side: sum(p.numel() for p in module.parameters())
            for side, module in (("image", self.image), ("text", self.text))
        }
        directions = sum(each.numel() for each in self.similarity.buffers())
        counts["total"] = sum(p.numel() for p in self.parameters()) + directions
        table = self.text.words.table_values
        words = sum(p.numel() for p in self.text.words.parameters()) if table else 0
        return {**counts, "test": counts["total"] - words, "table": table}

    def image_fingerprint(self) -> str:
        """Hash of all weights and buffers that a picture's embedding depends on, without a frozen backbone."""
        digest = hashlib.sha256()
        weights = {**self.image.state_dict(), **self.similarity.state_dict(prefix="similarity.")}
        for name, tensor in sorted(weights.items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
