"""Targets: the teacher's embeddings that the sentences of a run should get, computed once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.errors import UserError, choices
from lingvis.progress import note
from lingvis.training.sources import Sentences
from lingvis.training.text_teachers.contract import TextTeacher


class SentenceTargets:
    """Points [points, dim], unit vectors kept in half precision on the device, and the point of each sentence.

    point_of int64 [sentences]: -1 for a sentence without a target.
    """

    def __init__(self, points: Floats, point_of: Ints, device: torch.device) -> None:
        # The last row, which -1 refers to, is the target of sentences without one.
        self._points = torch.from_numpy(np.pad(points.astype(np.float16), ((0, 1), (0, 0)))).to(device)
        self._point_of = point_of
        self.dim = points.shape[1]

    def of(self, rows: Ints) -> Tensor:
        """The targets of sentences by number, float32 [T, dim]; zeros for those without one."""
        places = torch.from_numpy(self._point_of[rows]).to(self._points.device, non_blocking=True)
        return self._points[places].float()


def find_targets(teacher: TextTeacher, sentences: Sentences, device: torch.device) -> SentenceTargets:
    """Encode the sentences in the teacher's languages, and give every sentence a target.

    A sentence in a language of the teacher has its own embedding by the teacher as target. Any other has the mean of
    the embeddings with the same meaning (the other sentences about its picture, or of its row of text-only.jsonl). A
    sentence without such a companion has none. Reimers and Gurevych 2020, Eq. 1.
    """
    teacher.load(device)
    known = np.isin(sentences.langs, teacher.languages)
    if not known.any():
        raise UserError(
            f"the teacher has {choices(teacher.languages)}, but all sentences to learn from are in "
            f"{choices(set(sentences.langs))}; add sentences in a language of the teacher, and name it in data.languages"
        )
    rows = np.flatnonzero(known)
    own = teacher.encode([sentences.texts[row] for row in rows], [sentences.langs[row] for row in rows])
    meanings, meaning_of = np.unique(sentences.groups[rows], return_inverse=True)
    means = np.zeros((len(meanings), own.shape[1]), np.float32)
    np.add.at(means, meaning_of, own)
    means /= np.linalg.norm(means, axis=1, keepdims=True).clip(min=1e-12)
    point_of = np.full(len(known), -1, np.int64)
    point_of[rows] = np.arange(len(rows))
    others = np.flatnonzero(~known & np.isin(sentences.groups, meanings))
    point_of[others] = len(rows) + np.searchsorted(meanings, sentences.groups[others])
    _check(sentences, point_of)
    return SentenceTargets(np.concatenate([own, means]), point_of, device)


def _check(sentences: Sentences, point_of: Ints) -> None:
    """Report the sentences without a target; raise if a language has no other."""
    langs = np.asarray(sentences.langs)
    missing = sorted(set(langs) - set(langs[point_of >= 0]))
    if missing:
        raise UserError(
            f"no sentence in {choices(missing)} has the meaning of a sentence in a language of the teacher; add "
            "translations to captions.jsonl or text-only.jsonl, or leave the language out with data.languages"
        )
    alone = int((point_of < 0).sum())
    if alone:
        note(
            f"{alone} of {len(langs)} sentences have no companion in a language of the teacher and are left out"
        )
