"""Sentences of a dataset with the same meaning in two languages, as lists of words."""

from __future__ import annotations

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.errors import UserError, choices
from lingvis.text.segment import words


def parallel_words(dataset: Dataset, source: str, target: str) -> list[tuple[list[str], list[str]]]:
    """Pairs of word lists in two languages, from pictures of split train and sentences without a picture.

    A picture without `parallel` sentences in both languages becomes one pair: all captions in one language and
    all in the other. They describe the same picture, but which caption matches which is unknown.
    """
    rows: list[Row | TextRow] = [row for row in dataset.rows if row.split == "train"]
    rows += dataset.text_only()
    pairs = []
    for row in rows:
        source_words, target_words = (_words(row, lang, (source, target)) for lang in (source, target))
        if source_words and target_words:
            pairs.append((source_words, target_words))
    if not pairs:
        available = {lang for row in rows for lang in (*row.parallel, *row.captions)}
        raise UserError(
            f"{dataset.path} has no row of split train or of text-only.jsonl with sentences in both {source} and {target}; "
            f"it has sentences in: {choices(available)}"
        )
    return pairs


def _words(row: Row | TextRow, lang: str, both: tuple[str, str]) -> list[str]:
    if all(language in row.parallel for language in both):
        return words(row.parallel[lang], lang)
    return [word for text in row.captions.get(lang, ()) for word in words(text, lang)]
