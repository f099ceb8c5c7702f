"""`lingvis data translate`: machine translations of the captions of a dataset (SMALR, section 4 and supplement 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.rewrite import check_copy, write_dataset
from lingvis.data.rows import LANGUAGE_CODE, SPLITS, Row, Translation
from lingvis.errors import UserError, check_list, choices
from lingvis.lock import one_writer
from lingvis.progress import ProgressBar
from lingvis.text.translators.choose import choose_translator
from lingvis.text.translators.memory import TranslationMemory

PARALLEL = "parallel"  # not a translator: the sentences that the dataset has already
AT_ONCE = 128  # sentences between two writes: a program such as Apertium starts once for them


@dataclass(frozen=True, slots=True)
class TranslatedLanguage:
    """The captions that this call added in one language; empty: sentences for which the translator had no words."""

    translator: str
    images: int
    captions: int
    empty: int


@dataclass(frozen=True, slots=True)
class TranslatedDataset:
    """The dataset with its translations, and what was added by language; changed: whether anything was written."""

    dataset: Dataset
    changed: bool
    languages: dict[str, TranslatedLanguage]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        added = {
            lang: {
                "translator": each.translator,
                "images": each.images,
                "captions": each.captions,
                "empty": each.empty,
            }
            for lang, each in self.languages.items()
        }
        return {"dataset": str(self.dataset.path), "changed": self.changed, "languages": added}


def translate_captions(
    dataset: Dataset | Path | str,
    *,
    source: str,
    to: Sequence[str],
    translator: str | None = None,
    splits: Sequence[str] = (),
    out: Path | str | None = None,
    force: bool = False,
) -> TranslatedDataset:
    """Translate the human captions in `source` into the languages `to`, and store them as `translated` of the rows.

    translator: its registered name, by default the first installed one that has the pair; `parallel`: take the sentence
    of `parallel` instead, if that is a machine translation. splits: all by default. out: a new folder for a copy of the
    dataset; by default the captions are replaced in place, in one step. Rows with translations of the pair are left
    as they are unless `force` is set. A stopped call continues where it was.
    """
    here = dataset.path if isinstance(dataset, Dataset) else Path(dataset)
    target = here if out is None else Path(out)
    with one_writer(target):
        opened = Dataset.open(dataset)
        _check(opened, source, to, splits)
        if out is not None:
            check_copy(here, target)
        names = {
            lang: PARALLEL if translator == PARALLEL else choose_translator(source, lang, translator)
            for lang in to
        }
        place = target.resolve()
        file = place.parent / f".{place.name}.translations.jsonl"
        rows, languages = list(opened.rows), {}
        for lang, name in names.items():
            wanted = [
                number
                for number, row in enumerate(rows)
                if row.split in (splits or SPLITS) and (force or source not in row.translated.get(lang, {}))
            ]
            make = _parallel(lang) if name == PARALLEL else _machine(rows, wanted, source, lang, name, file)
            languages[lang] = _add(rows, wanted, source, lang, name, make)
        changed = out is not None or rows != list(opened.rows)
        written = write_dataset(opened, rows, None if out is None else target) if changed else opened
        file.unlink(missing_ok=True)
    return TranslatedDataset(written, changed, languages)


def _check(dataset: Dataset, source: str, to: Sequence[str], splits: Sequence[str]) -> None:
    check_list("to", to, "languages")
    check_list("splits", splits, "splits")
    bad = [lang for lang in (source, *to) if not LANGUAGE_CODE.fullmatch(lang)]
    if bad:
        raise UserError(f"bad language code {bad[0]!r}; use BCP-47 such as en, pt-BR or zh-Hant")
    if source not in dataset.languages:
        raise UserError(
            f"{dataset.path} has no human captions in {source} to translate; it has: {choices(dataset.languages)}"
        )
    if not to or source in to or len(set(to)) < len(to):
        raise UserError(
            f"got the languages {', '.join(to) or 'none'} to translate {source} into; name one or more others, each once"
        )
    unknown = [split for split in splits if split not in SPLITS]
    if unknown:
        raise UserError(f"unknown split {unknown[0]!r}; choose one of: {', '.join(SPLITS)}")


Make = Callable[[Row], Iterable[str]]


def _parallel(lang: str) -> Make:
    return lambda row: (row.parallel[lang],) if lang in row.parallel else ()


def _machine(
    rows: Sequence[Row], wanted: Sequence[int], source: str, lang: str, name: str, file: Path
) -> Make:
    """Translate all captions of the wanted rows; what was done before a stop is in the file."""
    memory = TranslationMemory(name, file)
    texts = list(dict.fromkeys(text for number in wanted for text in rows[number].captions.get(source, ())))
    translations: dict[str, str] = {}
    with ProgressBar(f"{source} to {lang}", len(texts)) as bar:
        for first in range(0, len(texts), AT_ONCE):
            part = texts[first : first + AT_ONCE]
            translations |= zip(part, memory(part, source, lang), strict=True)
            bar.advance(len(part), name)
    return lambda row: (translations[text] for text in row.captions.get(source, ()))


def _add(
    rows: list[Row], wanted: Sequence[int], source: str, lang: str, name: str, make: Make
) -> TranslatedLanguage:
    """Replace the wanted rows by rows with translations."""
    images = captions = empty = 0
    for number in wanted:
        row = rows[number]
        made = [" ".join(text.split()) for text in make(row)]
        kept = tuple(filter(None, made))
        empty += len(made) - len(kept)
        if kept:
            images, captions = images + 1, captions + len(kept)
            translation = {source: Translation(translator=name, captions=kept)}
            translated = row.translated | {lang: row.translated.get(lang, {}) | translation}
            rows[number] = row.model_copy(update={"translated": translated})
    return TranslatedLanguage(name, images, captions, empty)
