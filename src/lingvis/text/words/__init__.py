"""Word parts: token ids -> one vector per word; importing this package registers all of them."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.char_gru import CharacterGRU
from lingvis.text.words.embedding import WordEmbedding
from lingvis.text.words.hybrid import HybridWords
from lingvis.text.words.liwe import CharacterMLP
from lingvis.text.words.mapped import MappedWords
from lingvis.text.words.ngrams import HashedNgrams
from lingvis.text.words.pretrained import PretrainedEmbedding
from lingvis.text.words.transformer import TransformerWords
from lingvis.text.words.universal import UniversalWords

__all__ = [
    "WORDS",
    "CharacterGRU",
    "CharacterMLP",
    "HashedNgrams",
    "HybridWords",
    "MappedWords",
    "PretrainedEmbedding",
    "TransformerWords",
    "UniversalWords",
    "WordEmbedding",
    "WordPart",
]

import_parts(__name__, __path__)
