"""Regions -> pseudo captions, "attribute class" of each region one after the other (A3VSE, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.pseudo.labels import read_label_table, table_file

LABEL_LANGUAGE = "en"  # of the detectors there are
MAX_WORDS = 82  # where the paper cuts the sentences of Flickr30K


def pseudo_caption(
    regions: Sequence[Region],
    *,
    max_words: int = MAX_WORDS,
    min_score: float = 0.0,
    translations: Mapping[str, str] | None = None,
) -> str:
    """`red car young man dog`: the surest region first, cut after the last one that fits into `max_words`.

    A region without a score was given by a person and is sure; one of a lower score than min_score or without a
    label is left out, and so is one whose label has no translation, where translations are given.
    """
    sure = [(1.0 if region.score is None else region.score, region) for region in regions]
    kept = [region for score, region in sorted(sure, key=lambda pair: -pair[0]) if score >= min_score]
    words: list[str] = []
    for region in kept:
        name = _translated(region.label, translations)
        if not name:
            continue
        added = f"{_translated(region.attribute, translations)} {name}".split()
        if len(words) + len(added) > max_words:
            break
        words += added
    return " ".join(words)


def pseudo_captions(
    dataset: Dataset,
    languages: Sequence[str] | None = None,
    *,
    detections: str | None = None,
    max_words: int = MAX_WORDS,
    min_score: float = 0.0,
) -> dict[str, dict[str, str]]:
    """Language -> image -> its pseudo caption; images in which nothing was seen are left out.

    languages: all of the dataset by default; other than English each needs its table, labels/LANG.csv.
    detections: as for `Dataset.with_regions`.
    """
    seen = dataset.with_regions(detections)
    if not any(region.label for row in seen.rows for region in row.regions):
        raise UserError(
            f"{dataset.path} has no regions with labels; make them with: "
            f"lingvis features detect {dataset.path} --detector DETECTOR"
        )
    captions: dict[str, dict[str, str]] = {}
    for lang in dataset.languages if languages is None else languages:
        table = None if lang == LABEL_LANGUAGE else _table(dataset, lang)
        made = {
            row.image: pseudo_caption(
                row.regions, max_words=max_words, min_score=min_score, translations=table
            )
            for row in seen.rows
        }
        captions[lang] = {image: caption for image, caption in made.items() if caption}
    return captions


def _translated(name: str | None, translations: Mapping[str, str] | None) -> str:
    if name is None or translations is None:
        return name or ""
    return translations.get(name, "")


def _table(dataset: Dataset, lang: str) -> dict[str, str]:
    file = table_file(dataset, lang)
    if not file.is_file():
        raise UserError(
            f"no labels in {lang}: {file} is not there; make it with: "
            f"lingvis features labels {dataset.path} --lang {lang} --dictionary {lang}=FILE"
        )
    return read_label_table(file)
