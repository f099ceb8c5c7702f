"""Stage 7, the dual encoder: pictures and sentences into one space."""

from __future__ import annotations

import hashlib

from torch import Tensor, nn

from lingvis.types import Reading, TextBatch, Tokens


class ImageSide(nn.Module):
    """Tokens of stored features -> pooled vectors [B, dim]."""

    def __init__(self, *, augment: nn.Module, encoder: nn.Module, pooling: nn.Module) -> None:
        super().__init__()
        self.augment, self.encoder, self.pooling = augment, encoder, pooling

    def forward(self, tokens: Tokens) -> Tensor:
        pooled: Tensor = self.pooling(self.encoder(self.augment(tokens)))
        return pooled


class TextSide(nn.Module):
    """Tokenised sentences -> pooled and projected vectors [B, dim]."""

    def __init__(
        self, *, augment: nn.Module, words: nn.Module, encoder: nn.Module, pooling: nn.Module, head: nn.Module
    ) -> None:
        super().__init__()
        self.augment, self.words, self.encoder = augment, words, encoder
        self.pooling, self.head = pooling, head

    def forward(self, batch: TextBatch) -> Tensor:
        sentence: Tensor = self.head(self.pooling(self.encoder(self.words(self.augment(batch)))))
        return sentence

    def read(self, batch: TextBatch) -> Reading:
        """The same, with what lies on the way."""
        words = self.words(self.augment(batch))
        states = self.encoder(words)
        return Reading(words, masked_mean(words), states, self.head(self.pooling(states)))


def masked_mean(tokens: Tokens, mask: Tensor | None = None) -> Tensor:
    """Mean of the valid vectors, or of those that `mask` picks, [B, D]; zero where there is none."""
    weight = (tokens.mask if mask is None else mask).unsqueeze(-1).to(tokens.values.dtype)
    return (tokens.values * weight).sum(1) / weight.sum(1).clamp(min=1)


class DualEncoder(nn.Module):
    """Two sides and the similarity between them; knows nothing of files, recipes or training."""

    def __init__(self, *, image: ImageSide, text: TextSide, similarity: nn.Module) -> None:
        super().__init__()
        self.image, self.text, self.similarity = image, text, similarity

    def encode_images(self, tokens: Tokens) -> Tensor:
        """[B, L, D] features -> embeddings ready to be stored and compared, float32 [B, dim]."""
        emb: Tensor = self.similarity.prepare_images(self.image(tokens))  # type: ignore[operator]
        return emb

    def encode_texts(self, batch: TextBatch) -> Tensor:
        """Tokenised sentences -> embeddings, float32 [B, dim]."""
        emb: Tensor = self.similarity.prepare_texts(self.text(batch))  # type: ignore[operator]
        return emb

    def read_texts(self, batch: TextBatch) -> tuple[Tensor, Reading]:
        """Embeddings, and what the text side made of the sentences on the way."""
        reading = self.text.read(batch)
        emb: Tensor = self.similarity.prepare_texts(reading.sentence)  # type: ignore[operator]
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
