"""Regions -> pseudo captions: the "attribute label" of every region in sequence (A3VSE, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.pseudo.labels import read_label_table, table_file

LABEL_LANGUAGE = "en"  # the language of all detectors
MAX_WORDS = 82  # the paper cuts sentences of Flickr30K here


def pseudo_caption(
    regions: Sequence[Region],
    *,
    max_words: int = MAX_WORDS,
    min_score: float = 0.0,
    translations: Mapping[str, str] | None = None,
) -> str:
    """The pseudo caption of one picture, such as `red car young man dog`: best regions first, at most `max_words`.

    A region without a score comes from a person and counts as certain. Regions with a score below min_score or without
    a label are skipped; with translations, so are regions whose label has no translation.
    """
    scored = [(1.0 if region.score is None else region.score, region) for region in regions]
    chosen = [region for score, region in sorted(scored, key=lambda pair: -pair[0]) if score >= min_score]
    words: list[str] = []
    for region in chosen:
        label = _translated(region.label, translations)
        if not label:
            continue
        phrase = f"{_translated(region.attribute, translations)} {label}".split()
        if len(words) + len(phrase) > max_words:
            break
        words += phrase
    return " ".join(words)


def pseudo_captions(
    dataset: Dataset,
    languages: Sequence[str] | None = None,
    *,
    detections: str | None = None,
    max_words: int = MAX_WORDS,
) -> dict[str, dict[str, str]]:
    """Language -> image -> its pseudo caption; images without regions are omitted.

    languages: all of the dataset by default; each except English needs its label table, labels/LANG.csv.
    detections: as for `Dataset.with_regions`.
    """
    with_regions = dataset.with_regions(detections)
    if not any(region.label for row in with_regions.rows for region in row.regions):
        raise UserError(
            f"{dataset.path} has no regions with labels; make them with: "
            f"lingvis features detect {dataset.path} --detector DETECTOR"
        )
    captions: dict[str, dict[str, str]] = {}
    for lang in dataset.languages if languages is None else languages:
        table = None if lang == LABEL_LANGUAGE else _table(dataset, lang)
        written = {
            row.image: pseudo_caption(row.regions, max_words=max_words, translations=table)
            for row in with_regions.rows
        }
        captions[lang] = {image: caption for image, caption in written.items() if caption}
    return captions


def _translated(name: str | None, translations: Mapping[str, str] | None) -> str:
    if name is None or translations is None:
        return name or ""
    return translations.get(name, "")


def _table(dataset: Dataset, lang: str) -> dict[str, str]:
    file = table_file(dataset, lang)
    if not file.is_file():
        raise UserError(
            f"no labels in {lang}: {file} is missing; make it with: "
            f"lingvis features labels {dataset.path} --lang {lang} --dictionary {lang}=FILE"
        )
    return read_label_table(file)
