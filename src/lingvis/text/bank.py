"""Tokenised sentences as one flat tensor on the device, from which batches are gathered without a Python loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Ints
from lingvis.layers.ragged import RaggedIndex, starts_of
from lingvis.text.tokenizers.base import Tokenizer
from lingvis.types import Runs, SpelledWords, Stages, TextBatch

# In a batch of many sentences most are short, and a few long ones would fill it with padding. A small batch gains nothing:
# its steps take as long for a few rows.
LARGE = 512
STAGE_ENDS = (12, 20)
COUNT_SHARE = 8  # counts of a stage are rounded up to an eighth of the batch


class TokenBank:
    """Sentences, tokenised once.

    languages: of the model, numbered in this order, or in the order of the vocabulary if it has separate words per
    language. Sentences in any other language get the number after the last.
    """

    def __init__(
        self,
        *,
        tokenizer: Tokenizer,
        texts: Sequence[str],
        langs: Sequence[str],
        languages: Sequence[str],
        device: torch.device,
    ) -> None:
        ids = tokenizer(texts, langs)
        lengths = np.fromiter((len(row) for row in ids), np.int64, count=len(ids))
        self.rows = RaggedIndex(starts_of(lengths), lengths, device)
        number = {lang: place for place, lang in enumerate(tokenizer.vocabulary.languages or languages)}
        self.langs: Ints = np.fromiter((number.get(lang, len(number)) for lang in langs), np.int64, len(ids))
        self.device = device
        flat = np.concatenate(ids)
        self._flat = torch.from_numpy(flat).to(device)
        self._pad = tokenizer.vocabulary.pad
        self._words = _WordList(tokenizer, flat, device) if tokenizer.spells else None
        self._starts = starts_of(lengths)

    def __len__(self) -> int:
        return len(self.rows.lengths)

    def runs(self, rows: Ints) -> Runs:
        """The languages of sentences by number."""
        langs = self.langs[rows]
        edges = np.flatnonzero(np.diff(langs, prepend=-1))
        counts = np.diff(edges, append=len(langs))
        return tuple(zip(langs[edges].tolist(), counts.tolist(), strict=True))

    def words(self, rows: Ints, *, multiple: int = 1) -> Ints:
        """The distinct words of sentences as positions in the list of all spelled words.

        The last word is repeated up to a multiple; empty if the tokenizer does not spell.
        """
        if self._words is None:
            return np.empty(0, np.int64)
        lengths = self.rows.lengths[rows]
        within = np.arange(lengths.sum()) - np.repeat(starts_of(lengths), lengths)
        return self._words.distinct(np.repeat(self._starts[rows], lengths) + within, multiple)

    def stages(self, rows: Ints, length: int) -> Stages:
        """Bounds of the lengths of sentences by number, padded to `length`; empty for a small batch.

        Counts are rounded up, so that few numbers occur.
        """
        if len(rows) < LARGE:
            return ()
        multiple = -(-len(rows) // COUNT_SHARE)
        lengths, ends = self.rows.lengths[rows], [end for end in STAGE_ENDS if end < length]
        longer = [int((lengths > end).sum()) for end in ends]
        counts = [min(len(rows), -(-count // multiple) * multiple) for count in longer]
        stages = zip([*ends, length], [len(rows), *counts], strict=True)
        return tuple((end, max(1, count)) for end, count in stages)

    def gather(
        self, rows: Tensor, length: int, *, runs: Runs, words: Tensor, stages: Stages = ()
    ) -> TextBatch:
        """Sentences by number, int64 [B] on the device, padded to `length`; the others: from the methods above."""
        places, mask = self.rows.gather(rows, length)
        ids = self._flat[places].masked_fill(~mask, self._pad)
        spelled = self._words.spelled(words) if self._words is not None else None
        return TextBatch(ids, mask, runs, stages, spelled)

    def batch(self, rows: Ints) -> TextBatch:
        """Sentences by number, padded to the longest."""
        on_device = torch.from_numpy(rows).to(self.device)
        words = torch.from_numpy(self.words(rows)).to(self.device)
        return self.gather(on_device, self.rows.longest(rows), runs=self.runs(rows), words=words)


class _WordList:
    """Every distinct word of a bank with its spelling; special tokens belong to every batch."""

    def __init__(self, tokenizer: Tokenizer, flat: Ints, device: torch.device) -> None:
        special = np.asarray(tokenizer.vocabulary.special, np.int64)
        ids, places = np.unique(np.concatenate([special, flat]), return_inverse=True)
        self._special, self._places = places[: len(special)], places[len(special) :]
        self._ids = torch.from_numpy(ids).to(device)
        self._letters = torch.from_numpy(tokenizer.spelling(ids)).to(device)

    def distinct(self, tokens: Ints, multiple: int) -> Ints:
        """The words at these positions of the flat tokens, ascending."""
        seen = np.zeros(len(self._ids), dtype=bool)
        seen[self._special] = True
        seen[self._places[tokens]] = True
        words = np.flatnonzero(seen)
        return np.concatenate([words, np.repeat(words[-1:], -len(words) % multiple)])

    def spelled(self, places: Tensor) -> SpelledWords:
        """Words by position in the list."""
        return SpelledWords(self._ids[places], self._letters[places])
