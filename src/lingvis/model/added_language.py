"""Languages added to a trained model: each has a separate word part and shares the rest with the model.

RUN/added/LANG/ holds the files of its tokenizer, words.safetensors and config.json. The model itself does not change,
so the embeddings of pictures and of other languages stay bitwise the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.model.allocation import AllocationLimit
from lingvis.model.build import make_part
from lingvis.model.dual_encoder import TextSide
from lingvis.model.folder import ADDED, CONFIG, AddedConfig, report_damage
from lingvis.model.precision import Precision
from lingvis.model.weights import read_tensors, write_tensors
from lingvis.recipes.options import PROVIDED, part_problems
from lingvis.recipes.schema import Part
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.types import TextBatch
from lingvis.untrusted import read_json

WEIGHTS = "words.safetensors"


class Branch(nn.Module):
    """Tokenised sentences -> pooled and projected vectors [B, dim], by separate words and the rest of a text side.

    place: the number of the language whose layers are shared. dropout: of word vectors in training.
    """

    def __init__(self, *, words: WordPart, text: TextSide, place: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words, self.place, self.dropout = words, place, dropout
        self._text = (text,)  # in a tuple, so that it is not a submodule: its weights and mode stay separate

    def forward(self, batch: TextBatch) -> Tensor:
        text = self._text[0]
        runs = ((self.place, len(batch.ids)),)
        words = self.words(replace(batch, runs=runs))
        if self.training:
            words = replace(words, values=F.dropout(words.values, self.dropout))
        sentence: Tensor = text.head(text.pooling(text.encoder(words)), runs)
        return sentence


@dataclass(frozen=True, slots=True)
class AddedLanguage:
    """A language with its tokenizer and its branch of the text side."""

    config: AddedConfig
    tokenizer: Tokenizer
    branch: Branch

    @property
    def values(self) -> int:
        """Number of values that the language adds to the model."""
        return sum(each.numel() for each in self.branch.parameters())

    def to(self, device: torch.device) -> AddedLanguage:
        """Move the word part to a device."""
        self.branch.to(device)
        return self

    def bank(self, texts: Sequence[str], device: torch.device) -> TokenBank:
        """Tokenised sentences of the language."""
        lang = self.config.lang
        return TokenBank(
            tokenizer=self.tokenizer, texts=texts, langs=[lang] * len(texts), languages=[lang], device=device
        )


def make_words(part: Part, vocabulary: Vocabulary, folder: Path | None = None) -> WordPart:
    """A word part with its initial weights; folder: of the added language, if it is loaded."""
    return make_part(WORDS, part, vocabulary=vocabulary, folder=folder)


def write_added(run: Path, language: AddedLanguage, weights: Precision = "float32") -> None:
    """Write RUN/added/LANG; the caller writes RUN atomically."""
    folder = run / ADDED / language.config.lang
    folder.mkdir(parents=True)
    language.tokenizer.save(folder)
    language.branch.words.save(folder)
    write_tensors(folder / WEIGHTS, language.branch.words.state_dict(), weights)
    write_added_config(run, language.config)


def write_added_config(run: Path, config: AddedConfig) -> None:
    """Write config.json of an added language, or replace it."""
    write_json(run / ADDED / config.lang / CONFIG, config.model_dump())


def read_added(run: Path, lang: str, text: TextSide, languages: Sequence[str]) -> AddedLanguage:
    """Read RUN/added/LANG; languages: of the model's training, in the order of their numbers."""
    folder = run / ADDED / lang
    with report_damage(str(folder / CONFIG)):
        config = AddedConfig.model_validate(read_json(folder / CONFIG))
        values = config.model_dump()
        problems = part_problems("tokenizer", values, TOKENIZERS, provided=PROVIDED)
        problems += part_problems("words", values, WORDS, provided=PROVIDED)
        if config.lang != lang:
            problems.append(f"its language is {config.lang}")
        if config.like not in languages:
            problems.append(f"like: the model has no language {config.like!r}")
        if problems:
            raise ValueError("; ".join(problems))
        tokenizer = TOKENIZERS.get(config.tokenizer.name)(**config.tokenizer.options)
    with report_damage(f"the tokenizer in {folder}"):
        tokenizer.load(folder)
    tensors = read_tensors(folder, WEIGHTS)
    with report_damage(str(folder / CONFIG)), AllocationLimit(tensors):
        words = make_words(config.words, tokenizer.vocabulary, folder)
        if words.dim != text.words.dim:
            raise ValueError(f"its words have {words.dim} dimensions, the model's {text.words.dim}")
    try:
        words.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        raise UserError(
            f"{folder / WEIGHTS} does not fit the {CONFIG} beside it: {str(error).splitlines()[-1].strip()}"
        ) from error
    branch = Branch(words=words, text=text, place=list(languages).index(config.like))
    return AddedLanguage(config, tokenizer, branch.eval())
