"""A pretrained transformer of the `transformers` library as word part (extra: transformers)."""

from __future__ import annotations

from pathlib import Path

from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.tokenizers.transformer import FOLDER, library, pretrained, stored
from lingvis.text.words.base import WORDS, WordPart
from lingvis.types import TextBatch, Tokens


@WORDS.register("transformer", "last hidden states of a pretrained transformer")
class TransformerWords(WordPart):
    """ids [B, L] -> last hidden states [B, L, dim].

    folder: the model folder when a trained model is loaded; the architecture then comes from the saved
    configuration and the weights from the model folder, so that the hub is not needed. A transformer whose weights
    are all frozen stays in evaluation mode: a sentence always has the same states.
    """

    def __init__(self, *, vocabulary: Vocabulary, model: str, folder: Path | None = None) -> None:
        super().__init__()
        if folder is None:
            self.transformer = pretrained("AutoModel", model, use_safetensors=True)
        else:
            config = stored("AutoConfig", folder)
            self.transformer = library().AutoModel.from_config(config, trust_remote_code=False)
        self.dim = int(self.transformer.config.hidden_size)

    def save(self, folder: Path) -> None:
        """Write the architecture's configuration into a model folder."""
        self.transformer.config.save_pretrained(str(folder / FOLDER))

    def train(self, mode: bool = True) -> TransformerWords:
        """Switch the mode; without dropout while all weights are frozen."""
        super().train(mode)
        if not any(each.requires_grad for each in self.parameters()):
            self.transformer.eval()
        return self

    def forward(self, batch: TextBatch) -> Tokens:
        hidden = self.transformer(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return batch.tokens(hidden)
