"""Tokenizers: sentences -> token ids; importing this package registers all of them."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.text.tokenizers.base import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.tokenizers.language_words import LanguageWordTokenizer
from lingvis.text.tokenizers.transformer import TransformerTokenizer
from lingvis.text.tokenizers.words import WordTokenizer

__all__ = [
    "TOKENIZERS",
    "CharacterTokenizer",
    "LanguageWordTokenizer",
    "Tokenizer",
    "TransformerTokenizer",
    "Vocabulary",
    "WordTokenizer",
]

import_parts(__name__, __path__)
