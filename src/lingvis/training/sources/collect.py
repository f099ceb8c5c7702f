"""A recipe and a dataset -> all sentences that a run learns from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from lingvis.data.dataset import Captions, Dataset
from lingvis.data.sparse import SparseSplit, draw_captions, draw_sparse, named_images
from lingvis.errors import UserError
from lingvis.model.build import make_part
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import Origin
from lingvis.training.sources import PSEUDO_SOURCES
from lingvis.training.sources.class_names import add_class_names
from lingvis.training.sources.pseudo import PseudoSource, Setting
from lingvis.training.sources.sentences import Sentences
from lingvis.training.sources.text_only import add_text_only


def collect_sentences(
    recipe: Recipe, dataset: Dataset, languages: Sequence[str], device: torch.device | None = None
) -> Sentences:
    """Human captions, then text-only sentences, pseudo captions and names of classes; device: where teachers work."""
    captions = draw_captions(
        _captions(recipe, dataset, languages), recipe.data.captions, recipe.training.seed
    )
    split = _annotated_images(recipe, captions)
    described, undescribed = split.captions, list[str]()
    if recipe.pseudo.name != "none":
        undescribed = [*split.without, *_never_described(dataset, captions)]
        if not undescribed:
            raise UserError(
                f"pseudo.name is {recipe.pseudo.name}, but every training picture has human captions; "
                "set data.images below 1, or pseudo.name = none"
            )
    sentences = Sentences(
        [*described.images, *undescribed],
        list(described.texts),
        list(described.langs),
        np.asarray(described.image_of, np.int64),
        np.full(len(described.texts), Origin.HUMAN, np.int8),
        np.ones(len(described.texts), bool),
    )
    if recipe.data.text_only:
        sentences = add_text_only(sentences, dataset, languages)
    setting = Setting(
        dataset=dataset,
        languages=languages,
        some_unannotated=bool(recipe.data.annotated_languages),
        undescribed=range(len(described.images), len(sentences.images)),
        device=device,
    )
    source: PseudoSource = make_part(PSEUDO_SOURCES, recipe.pseudo)
    sentences = source.add(sentences, setting)
    if recipe.data.classes:
        sentences = add_class_names(sentences, languages, recipe.training.seed)
    _check_languages(languages, sentences)
    return sentences


def _captions(recipe: Recipe, dataset: Dataset, languages: Sequence[str]) -> Captions:
    """Human captions in the annotated languages and, with data.translated, machine translations in all languages.

    With a teacher, text-only sentences may take their place.
    """
    annotated = _annotated_languages(recipe, languages)
    if recipe.data.translated:
        translated = {lang for row in dataset.rows if row.split == "train" for lang in row.translated}
        if not translated:
            raise UserError(
                f"data.translated is true, but {dataset.path} has no translated captions in split train; make some with "
                f"`lingvis data translate {dataset.path}`, or set data.translated = false"
            )
        dataset = dataset.with_translations(human=annotated)
        languages = [lang for lang in languages if lang in annotated or lang in translated]
    else:
        languages = annotated
    if recipe.teacher.name != "none" and recipe.data.text_only:
        described = {lang for row in dataset.rows if row.split == "train" for lang in row.captions}
        languages = [lang for lang in languages if lang in described]
        if not languages:
            return Captions([], [], [], np.zeros(0, np.int64))
    return dataset.captions("train", languages)


def _annotated_languages(recipe: Recipe, languages: Sequence[str]) -> Sequence[str]:
    """The languages of the human captions that the run uses."""
    named = recipe.data.annotated_languages
    unknown = [lang for lang in named if lang not in languages]
    if unknown:
        raise UserError(
            f"data.annotated_languages names {', '.join(unknown)}, but the languages are {', '.join(languages)}; "
            "choose from these, or add it to data.languages"
        )
    return named or languages


def _annotated_images(recipe: Recipe, captions: Captions) -> SparseSplit:
    """Split the pictures: human captions used, and human captions withheld."""
    data = recipe.data
    if data.annotated:
        return named_images(captions, Path(data.annotated))
    if data.images < 1 or data.per_image:
        return draw_sparse(captions, images=data.images, per_image=data.per_image, seed=recipe.training.seed)
    return SparseSplit(captions, [])


def _never_described(dataset: Dataset, captions: Captions) -> list[str]:
    """Training pictures without any caption."""
    described = set(captions.images)
    return [row.image for row in dataset.rows if row.split == "train" and row.image not in described]


def _check_languages(languages: Sequence[str], sentences: Sentences) -> None:
    """Raise if a language has no sentence at all."""
    present = set(sentences.langs)
    missing = [lang for lang in languages if lang not in present]
    if missing:
        named = ",".join(f'"{lang}"' for lang in languages if lang in present)
        raise UserError(
            f"there is no sentence to learn {', '.join(missing)} from: no human caption, no translated caption, no "
            f"text-only sentence, no pseudo caption; add some, or leave it out with data.languages=[{named}]"
        )
