"""Pseudo captions that trained models find: text-only sentences that fit pictures no person described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import Origin
from lingvis.training.digests import model_digests
from lingvis.training.sources.pseudo import PSEUDO_SOURCES, PseudoSource, Setting
from lingvis.training.sources.sentences import Sentences, TeacherVectors

SENTENCES_PER_PICTURE = 5
BLOCK = 256  # pictures that are compared with all sentences at once


@PSEUDO_SOURCES.register("teachers", "text-only sentences that trained models find; see term distillation")
class Teachers(PseudoSource):
    """Several models as one, whose score is the mean of theirs; runs: their model folders.

    Sentences with one meaning are found together, by the mean of their vectors; of the best ones for a picture, the
    first sentence of each language becomes a pseudo caption.
    """

    one_each: ClassVar[bool] = True

    def __init__(self, *, runs: list[str]) -> None:
        self.runs = runs

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Teachers choose among text-only sentences, and their scores are what is learnt."""
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
        """Up to SENTENCES_PER_PICTURE sentences per undescribed picture and language."""
        candidates = known.rows(Origin.TEXT_ONLY)
        if not len(candidates):
            raise UserError(
                f"teachers look for sentences without a picture, and {setting.dataset.path} has none in "
                f"{', '.join(setting.languages)}; add some to text-only.jsonl, or set pseudo.name = none"
            )
        texts = [known.texts[row] for row in candidates]
        langs = [known.langs[row] for row in candidates]
        sources = self._sources(setting)
        embedded = [
            (source.encode(known.images), source.model.encode_texts(texts, langs)) for source in sources
        ]
        image_emb, text_emb = (_joint(vectors) for vectors in zip(*embedded, strict=True))
        _, meaning = np.unique(known.groups[candidates], return_inverse=True)
        first = _first_of_each_language(meaning, langs)
        text_of, places = _find(image_emb, text_emb, meaning, first, setting.undescribed)
        return known.plus(
            Origin.PSEUDO,
            [texts[text] for text in text_of],
            [langs[text] for text in text_of],
            places,
            TeacherVectors(image_emb, text_emb, text_of),
        )

    def digests(self, dataset: Dataset) -> list[str]:
        """Of the teachers' model folders."""
        return [digest for run in self.runs for digest in model_digests(Path(run))]

    def _sources(self, setting: Setting) -> Iterator[StoredImages]:
        """One after the other, so that no two are in memory."""
        device = None if setting.device is None else str(setting.device)
        for run in self.runs:
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


def _find(
    image_emb: Floats, text_emb: Floats, meaning: Ints, first: list[list[int]], undescribed: range
) -> tuple[Ints, Ints]:
    """Numbers of the sentences found, and of the picture that each was found for.

    meaning: of each sentence; first: the sentences of each meaning that may be taken.
    """
    vectors = np.zeros((len(first), text_emb.shape[1]), np.float32)
    np.add.at(vectors, meaning, text_emb)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
    rows: list[int] = []
    places: list[int] = []
    for start in range(undescribed.start, undescribed.stop, BLOCK):
        best = _best(image_emb[start : start + BLOCK] @ vectors.T)
        for place, meanings in enumerate(best, start=start):
            sentences = [row for each in meanings for row in first[each]]
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
