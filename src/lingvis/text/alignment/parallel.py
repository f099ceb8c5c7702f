"""Sentences of a dataset that say the same in two languages."""

from __future__ import annotations

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.errors import UserError, choices
from lingvis.text.segment import words


def parallel_words(dataset: Dataset, source: str, target: str) -> list[tuple[list[str], list[str]]]:
    """Pairs of word lists in two languages, from pictures of split train and sentences without a picture.

    Of a picture that has no `parallel` sentences in both languages, all captions of one language stand against
    all of the other: they speak of the same things, but nobody knows which belongs to which.
    """
    rows: list[Row | TextRow] = [row for row in dataset.rows if row.split == "train"]
    rows += dataset.text_only()
    pairs = []
    for row in rows:
        one, other = (_sentences(row, lang, (source, target)) for lang in (source, target))
        if one and other:
            pairs.append((one, other))
    if not pairs:
        here = {lang for row in rows for lang in (*row.parallel, *row.captions)}
        raise UserError(
            f"{dataset.path} has no picture in split train, and no row without one, with sentences in both {source} "
            f"and {target}; it has sentences in: {choices(here)}"
        )
    return pairs


def _sentences(row: Row | TextRow, lang: str, both: tuple[str, str]) -> list[str]:
    if all(each in row.parallel for each in both):
        return words(row.parallel[lang], lang)
    return [word for text in row.captions.get(lang, ()) for word in words(text, lang)]
