"""Stage 7, the dual encoder: pictures and sentences into one space."""

from __future__ import annotations

import hashlib

from torch import Tensor, nn

from lingvis.types import TextBatch, Tokens


class ImageSide(nn.Module):
    """Tokens of stored features -> pooled vectors [B, dim]."""

    def __init__(self, *, augment: nn.Module, encoder: nn.Module, pooling: nn.Module) -> None:
        super().__init__()
        self.augment, self.encoder, self.pooling = augment, encoder, pooling

    def forward(self, tokens: Tokens) -> Tensor:
        pooled: Tensor = self.pooling(self.encoder(self.augment(tokens)))
        return pooled


class TextSide(nn.Module):
    """Tokenised sentences -> pooled vectors [B, dim]."""

    def __init__(
        self, *, augment: nn.Module, words: nn.Module, encoder: nn.Module, pooling: nn.Module
    ) -> None:
        super().__init__()
        self.augment, self.words, self.encoder, self.pooling = augment, words, encoder, pooling

    def forward(self, batch: TextBatch) -> Tensor:
        pooled: Tensor = self.pooling(self.encoder(self.words(self.augment(batch))))
        return pooled


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

    def parameter_counts(self) -> dict[str, int]:
        """Number of parameters of each side and in all."""
        counts = {
            side: sum(p.numel() for p in module.parameters())
            for side, module in (("image", self.image), ("text", self.text))
        }
        return {**counts, "total": sum(p.numel() for p in self.parameters())}

    def image_fingerprint(self) -> str:
        """Hash of all that shapes a picture's embedding on this side of the backbone."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.image.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
