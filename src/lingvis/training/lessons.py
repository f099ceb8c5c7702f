"""All sentences that a run learns from: people's captions, sentences without pictures, captions by detectors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.data.dataset import Captions, Dataset
from lingvis.data.rows import TextRow
from lingvis.data.sparse import SparseSplit, draw_captions, draw_sparse, named_images
from lingvis.errors import UserError
from lingvis.pseudo import pseudo_captions, table_file
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.recipes.schema import Recipe
from lingvis.training.teachers import Taught, Teachers

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lessons:
    """texts[n] is in langs[n] and about images[groups[n]], or about a picture that is not there where groups[n] is
    beyond. captions: people's, which come first; pseudo: where those of detectors begin, at the end, or those that
    teachers found, with `taught`.
    """

    captions: Captions
    images: list[str]
    texts: list[str]
    langs: list[str]
    groups: Ints
    pseudo: int
    taught: Taught | None = None


def find_lessons(
    recipe: Recipe, dataset: Dataset, languages: Sequence[str], device: torch.device | None = None
) -> Lessons:
    """What a recipe learns from in a dataset; device: where its teachers work."""
    data, seed = recipe.data, recipe.training.seed
    annotated = _annotated_languages(recipe, languages)
    whole = draw_captions(dataset.captions("train", annotated), data.captions, seed)
    split = SparseSplit(whole, [])
    if data.annotated:
        split = named_images(whole, Path(data.annotated))
    elif data.images < 1 or data.per_image:
        split = draw_sparse(whole, images=data.images, per_image=data.per_image, seed=seed)
    captions = split.captions
    without = [*split.without, *_never_described(dataset, whole)] if recipe.pseudo.weight else []
    if recipe.pseudo.weight and not without:
        raise UserError(
            f"pseudo.weight is {recipe.pseudo.weight:g}, but every training image is annotated; "
            "set data.images below 1, or pseudo.weight = 0"
        )
    images = captions.images + without
    texts, langs, groups = list(captions.texts), list(captions.langs), captions.image_of.tolist()
    if data.text_only:
        for lang, text, group in _alone(dataset.text_only(), languages, first=len(images)):
            texts.append(text)
            langs.append(lang)
            groups.append(group)
    pseudo, taught = len(texts), None
    if recipe.pseudo.weight and recipe.pseudo.teachers:
        alone = slice(len(captions.texts), pseudo)
        if not texts[alone]:
            raise UserError(
                f"pseudo.teachers look for sentences without a picture, and {dataset.path} has none in "
                f"{', '.join(languages)}; add some to text-only.jsonl, or leave pseudo.teachers out"
            )
        teachers = Teachers([Path(run) for run in recipe.pseudo.teachers], dataset, languages, device)
        about = np.asarray(groups[alone], np.int64) - len(images)
        taught = teachers.find(images, len(captions.images), texts[alone], langs[alone], about)
        texts += [texts[alone.start + row] for row in taught.rows]
        langs += [langs[alone.start + row] for row in taught.rows]
        groups += taught.places.tolist()
    elif recipe.pseudo.weight:
        spoken = _with_labels(dataset, languages) if data.annotated_languages else languages
        made = pseudo_captions(dataset, spoken, detections=recipe.pseudo.detections or None)
        for lang, of_image in made.items():
            for place, image in enumerate(without, start=len(captions.images)):
                if image in of_image:
                    texts.append(of_image[image])
                    langs.append(lang)
                    groups.append(place)
        if len(texts) == pseudo:
            raise UserError(
                f"detectors saw nothing in the {len(without)} training images without annotation; lower the score from "
                "which `lingvis features detect` keeps a region, or set pseudo.weight = 0"
            )
    _check_spoken(languages, langs)
    return Lessons(captions, images, texts, langs, np.asarray(groups, np.int64), pseudo, taught)


def _annotated_languages(recipe: Recipe, languages: Sequence[str]) -> Sequence[str]:
    """The languages whose captions are learnt from."""
    named = recipe.data.annotated_languages
    unknown = [lang for lang in named if lang not in languages]
    if unknown:
        raise UserError(
            f"data.annotated_languages names {', '.join(unknown)}, but the languages are {', '.join(languages)}; "
            "name some of these, or add it to data.languages"
        )
    return named or languages


def _never_described(dataset: Dataset, captions: Captions) -> list[str]:
    """Training images that have no captions to put away."""
    described = set(captions.images)
    return [row.image for row in dataset.rows if row.split == "train" and row.image not in described]


def _with_labels(dataset: Dataset, languages: Sequence[str]) -> Sequence[str]:
    """The languages in which detectors can write captions; says which they cannot."""
    there = [lang for lang in languages if lang == LABEL_LANGUAGE or table_file(dataset, lang).is_file()]
    lacking = [lang for lang in languages if lang not in there]
    if there and lacking:
        print(
            f"note: no captions by detectors in {', '.join(lacking)}, without tables of labels; "
            f"`lingvis features labels {dataset.path}` makes them",
            file=sys.stderr,
        )
    return there or languages


def _check_spoken(languages: Sequence[str], langs: Sequence[str]) -> None:
    """A language without a single sentence cannot be learnt."""
    heard = set(langs)
    silent = [lang for lang in languages if lang not in heard]
    if silent:
        named = ",".join(f'"{lang}"' for lang in languages if lang in heard)
        raise UserError(
            f"there is no sentence to learn {', '.join(silent)} from: no annotated caption, none without a picture, "
            f"none by detectors; give some of these, or leave it out with data.languages=[{named}]"
        )


def _alone(rows: Sequence[TextRow], languages: Sequence[str], first: int) -> list[tuple[str, str, int]]:
    """Language, sentence and group of sentences whose pictures are not there; groups count from `first` on."""
    found = []
    for group, row in enumerate(rows, start=first):
        sentences = [(lang, text) for lang, texts in row.captions.items() for text in texts]
        sentences += [pair for pair in row.parallel.items() if pair not in sentences]
        found += [(lang, text, group) for lang, text in sentences if lang in languages]
    return found
