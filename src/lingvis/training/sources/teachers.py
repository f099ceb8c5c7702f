"""Pseudo captions by trained models: they find text-only sentences that fit pictures without human captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Bools, Floats, Ints
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import Origin
from lingvis.terms.distillation import TEACHER_SCORES
from lingvis.training.digests import model_digests
from lingvis.training.sources.pseudo import PSEUDO_SOURCES, PseudoSource, Setting
from lingvis.training.sources.sentences import PairValues, Sentences

SENTENCES_PER_PICTURE = 5
BLOCK = 256  # pictures that are compared with all sentences at once


@PSEUDO_SOURCES.register("teachers", "text-only sentences that trained models find; see term distillation")
class Teachers(PseudoSource):
    """Several models as one, with the mean of their scores; runs: their model folders.

    Sentences with one meaning are found together, by the mean of their vectors; of the best ones for a picture, the
    first sentence of each language becomes a pseudo caption.
    """

    one_each: ClassVar[bool] = True

    def __init__(self, *, runs: list[str]) -> None:
        self.runs = runs

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Teachers need text-only sentences to choose from, and a term that learns their scores."""
        if not recipe.pseudo.options.get("runs"):
            yield 'pseudo.runs names no teacher; give folders of trained models, such as pseudo.runs=["runs/first"]'
        if not any(term.name == "distillation" and term.weight for term in recipe.terms.values()):
            yield (
                "pseudo.name is teachers, but no term learns from their scores; add "
                'terms.pseudo = { name = "distillation", weight = 0.5, temperature = 0.05 }'
            )
        if not recipe.data.text_only:
            yield (
                "pseudo.name is teachers, which find text-only sentences, but data.text_only is false; set it to true, "
                "and training.sampling.text_only above 0, such as 0.5"
            )

    def add(self, known: Sentences, setting: Setting) -> Sentences:
        """Add up to SENTENCES_PER_PICTURE sentences per undescribed picture and language."""
        candidates = known.rows(Origin.TEXT_ONLY)
        if not len(candidates):
            raise UserError(
                f"teachers look for sentences without a picture, and {setting.dataset.path} has none in "
                f"{', '.join(setting.languages)}; add some to text-only.jsonl, or set pseudo.name = none"
            )
        texts = [known.texts[row] for row in candidates]
        langs = [known.langs[row] for row in candidates]
        image_emb, text_emb = _encode(self.runs, known.images, texts, langs, setting)
        _, meaning = np.unique(known.groups[candidates], return_inverse=True)
        first = _first_of_each_language(meaning, langs)
        text_of, places = _find(image_emb, text_emb, meaning, first, setting.undescribed)
        return known.plus(
            Origin.PSEUDO,
            [texts[text] for text in text_of],
            [langs[text] for text in text_of],
            places,
            in_vocabulary=_first_occurrences(text_of),
            pair_values=[
                TeacherScores(image_emb, text_emb, len(known.texts) + np.arange(len(text_of)), text_of)
            ],
        )

    def digests(self, dataset: Dataset) -> list[str]:
        """Checksums of the teachers' model folders."""
        return [digest for run in self.runs for digest in model_digests(run)]


def _encode(
    runs: Sequence[str], images: Sequence[str], texts: Sequence[str], langs: Sequence[str], setting: Setting
) -> tuple[Floats, Floats]:
    """Unit vectors of pictures and sentences whose inner product is the mean of the teachers' scores."""
    encoded = [
        (source.encode(images), source.model.encode_texts(texts, langs)) for source in _open(runs, setting)
    ]
    image_emb, text_emb = (_joint(vectors) for vectors in zip(*encoded, strict=True))
    return image_emb, text_emb


def _open(runs: Sequence[str], setting: Setting) -> Iterator[StoredImages]:
    """Open one teacher after the other, so that only one is in memory."""
    device = None if setting.device is None else str(setting.device)
    for run in runs:
        model = Embedder.load(run, device=device)
        if not (model.inner_product and model.pooled):
            raise UserError(
                f"teacher {model.name} has no single vector per picture; name models with similarity.name = cosine"
            )
        unknown = set(setting.languages) - set(model.languages)
        if unknown:
            raise UserError(
                f"teacher {model.name} does not know {choices(unknown)}; train it with these languages, or leave "
                "them out with data.languages"
            )
        yield StoredImages.open(model, setting.dataset)


class TeacherScores(PairValues):
    """The mean of the teachers' scores, for some sentences; 0 for others.

    image_emb [pictures, dim], text_emb [candidates, dim]: unit vectors whose inner product is that mean, kept in half
    precision. rows int64 [P]: numbers of these sentences; text_of int64 [P]: the candidate that each of them is.
    """

    name: ClassVar[str] = TEACHER_SCORES

    def __init__(self, image_emb: Floats, text_emb: Floats, rows: Ints, text_of: Ints) -> None:
        self._images = torch.from_numpy(image_emb).half()
        self._texts = torch.from_numpy(text_emb).half()
        self._text_of = np.full(rows.max() + 1, -1, np.int64)
        self._text_of[rows] = text_of

    def to(self, device: torch.device) -> None:
        """Move the vectors to a device."""
        self._images, self._texts = self._images.to(device), self._texts.to(device)

    def values(self, images: Ints, rows: Ints) -> Tensor:
        """Scores, float32 [I, T]."""
        device = self._images.device
        text_of = np.full(len(rows), -1, np.int64)
        inside = rows < len(self._text_of)
        text_of[inside] = self._text_of[rows[inside]]
        scored = np.flatnonzero(text_of >= 0)
        image_emb = self._images[torch.from_numpy(images).to(device)].float()
        text_emb = self._texts[torch.from_numpy(text_of[scored]).to(device)].float()
        scores = torch.zeros(len(images), len(rows), device=device)
        scores[:, torch.from_numpy(scored).to(device)] = image_emb @ text_emb.T
        return scores


def _first_occurrences(numbers: Ints) -> Bools:
    """Whether each number comes for the first time: a sentence that is found for many pictures counts once."""
    first = np.zeros(len(numbers), bool)
    first[np.unique(numbers, return_index=True)[1]] = True
    return first


def _find(
    image_emb: Floats, text_emb: Floats, meaning: Ints, first: list[list[int]], undescribed: range
) -> tuple[Ints, Ints]:
    """Numbers of the chosen sentences, and of the picture of each.

    meaning: of each sentence; first: the sentences to choose from, per meaning.
    """
    vectors = np.zeros((len(first), text_emb.shape[1]), np.float32)
    np.add.at(vectors, meaning, text_emb)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
    rows: list[int] = []
    places: list[int] = []
    for start in range(undescribed.start, undescribed.stop, BLOCK):
        best = _best(image_emb[start : start + BLOCK] @ vectors.T)
        for place, meanings in enumerate(best, start=start):
            sentences = [row for number in meanings for row in first[number]]
            rows += sentences
            places += [place] * len(sentences)
    return np.array(rows, np.int64), np.array(places, np.int64)


def _joint(vectors: Sequence[Floats]) -> Floats:
    joint: Floats = np.concatenate(vectors, axis=1) / np.float32(len(vectors) ** 0.5)
    return joint


def _best(scores: Floats) -> Ints:
    """The columns of the highest scores of each row, the highest first, [rows, SENTENCES_PER_PICTURE]."""
    some = np.argpartition(-scores, min(SENTENCES_PER_PICTURE, scores.shape[1]) - 1, axis=1)
    some = some[:, :SENTENCES_PER_PICTURE]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def _first_of_each_language(meaning: Ints, langs: Sequence[str]) -> list[list[int]]:
    """The first sentence of each language, per meaning."""
    first: list[dict[str, int]] = [{} for _ in range(int(meaning.max()) + 1)]
    for row, (number, lang) in enumerate(zip(meaning.tolist(), langs, strict=True)):
        first[number].setdefault(lang, row)
    return [list(by_language.values()) for by_language in first]
