"""Stage 7, the dual encoder: pictures and sentences into one space."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lingvis.types import Reading, TextBatch, Tokens


class ImageSide(nn.Module):
    """Tokens of stored features -> pooled vectors [B, dim], or `vectors` that are not pooled."""

    def __init__(self, *, augment: nn.Module, encoder: nn.Module, pooling: nn.Module) -> None:
        super().__init__()
        self.augment, self.encoder, self.pooling = augment, encoder, pooling

    @property
    def dim(self) -> int:
        """Length of a pooled vector; several heads side by side widen it."""
        widest = self.pooling if hasattr(self.pooling, "dim") else self.encoder
        return int(widest.dim)  # type: ignore[arg-type]

    def forward(self, tokens: Tokens) -> Tensor:
        pooled: Tensor = self.pooling(self.vectors(tokens))
        return pooled

    def vectors(self, tokens: Tokens) -> Tokens:
        """The vectors of the joint space before pooling."""
        encoded: Tokens = self.encoder(self.augment(tokens))
        return encoded


class TextSide(nn.Module):
    """Tokenised sentences -> pooled and projected vectors [B, dim]; special: ids of tokens that are no words."""

    special: Tensor

    def __init__(
        self,
        *,
        augment: nn.Module,
        words: nn.Module,
        encoder: nn.Module,
        pooling: nn.Module,
        head: nn.Module,
        special: Sequence[int],
    ) -> None:
        super().__init__()
        self.augment, self.words, self.encoder = augment, words, encoder
        self.pooling, self.head = pooling, head
        self.register_buffer("special", torch.tensor(special), persistent=False)

    def forward(self, batch: TextBatch) -> Tensor:
        sentence: Tensor = self.head(self.pooling(self.vectors(batch)), batch.runs)
        return sentence

    def vectors(self, batch: TextBatch) -> Tokens:
        """The words in context before pooling."""
        states: Tokens = self.encoder(self.words(self.augment(batch)))
        return states

    def read(self, batch: TextBatch) -> Reading:
        """The same with what lies on the way, of sentences as they are: training augments them before."""
        words = self.words(batch)
        states = self.encoder(words)
        is_word = batch.mask & ~torch.isin(batch.ids, self.special)
        is_word = torch.where(is_word.any(dim=1, keepdim=True), is_word, batch.mask)
        sentence = self.head(self.pooling(states), batch.runs)
        return Reading(words, is_word, masked_mean(words, is_word), states, sentence)


def masked_mean(tokens: Tokens, mask: Tensor) -> Tensor:
    """Mean of the vectors that `mask`, bool [B, L], picks: [B, D]."""
    weight = mask.unsqueeze(-1).to(tokens.values.dtype)
    return (tokens.values * weight).sum(1) / weight.sum(1)


class DualEncoder(nn.Module):
    """Two sides and the similarity between them; knows nothing of files, recipes or training."""

    def __init__(self, *, image: ImageSide, text: TextSide, similarity: nn.Module) -> None:
        super().__init__()
        self.image, self.text, self.similarity = image, text, similarity

    def encode_images(self, tokens: Tokens) -> Tensor:
        """[B, L, D] features -> embeddings ready to be stored and compared, float32 [B, dim].

        Of a similarity that does not compare pooled vectors: [B, L, dim], as it prepares them.
        """
        side = self.image(tokens) if self.similarity.pooled else self.image.vectors(tokens)
        emb: Tensor = self.similarity.prepare_images(side)  # type: ignore[operator]
        return emb

    def encode_texts(self, batch: TextBatch) -> Tensor:
        """Tokenised sentences -> embeddings, float32 [B, dim], or [B, L, dim] as above."""
        side = self.text(batch) if self.similarity.pooled else self.text.vectors(batch)
        emb: Tensor = self.similarity.prepare_texts(side)  # type: ignore[operator]
        return emb

    def read_texts(self, batch: TextBatch) -> tuple[Tensor, Reading]:
        """Embeddings, and what the text side made of the sentences on the way; nothing is augmented."""
        reading = self.text.read(batch)
        side = reading.sentence if self.similarity.pooled else reading.states
        emb: Tensor = self.similarity.prepare_texts(side)  # type: ignore[operator]
        return emb, reading

    def parameter_counts(self) -> dict[str, int]:
        """Numbers of values: of each side, in all, and of a deployed model.

        test: without the words where their vectors are looked up in a table that was computed before, as Burns
        et al. 2020 count; table: the values of that table, 0 where words are not tabulated.
        """
        counts = {
            side: sum(p.numel() for p in module.parameters())
            for side, module in (("image", self.image), ("text", self.text))
        }
        counts["total"] = sum(p.numel() for p in self.parameters())
        table = int(getattr(self.text.words, "table_values", 0))
        words = sum(p.numel() for p in self.text.words.parameters()) if table else 0
        return {**counts, "test": counts["total"] - words, "table": table}

    def image_fingerprint(self) -> str:
        """Hash of all that shapes a picture's embedding on this side of the backbone."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.image.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
