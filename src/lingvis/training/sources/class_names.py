"""Sentences that name the classes of a pre-trained backbone, which no caption may mention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.arrays import Bools
from lingvis.data.class_names import Concept, read_concepts
from lingvis.errors import UserError, choices
from lingvis.terms.base import Origin
from lingvis.training.sources.sentences import ClassSentences, Sentences

WITH_CONTEXT = 3  # sentences per class and language with words of a caption around the name
LONGEST_CONTEXT = 6  # words of a caption, or twice as many letters of a language without spaces


def add_class_names(known: Sentences, languages: Sequence[str], seed: int) -> Sentences:
    """The known sentences and, per class and language, its names and its general names, alone and among words.

    The words around a name are the end or the beginning of a random human caption: a model learns that the name
    decides, wherever it is.
    """
    concepts = read_concepts()
    classes = 1 + max(number for concept in concepts for number in concept.classes)
    members = np.zeros((len(concepts), classes), bool)
    for number, concept in enumerate(concepts):
        members[number, concept.classes] = True
    general_of = [np.flatnonzero(members[:, number]) for number in range(classes)]
    rng = np.random.default_rng([seed, Origin.CLASS])
    first = max(len(known.images), int(known.groups.max()) + 1)
    written = _Writing()
    for lang in languages:
        contexts = _Contexts(known, lang, rng)
        for number, numbers in enumerate(general_of):
            own, general = numbers[:1], [each for each in numbers[1:] if concepts[each].names.get(lang)]
            names = concepts[own[0]].names.get(lang, [])
            texts = [
                *names,
                *(contexts.around(_pick(names, rng)) for _ in range(WITH_CONTEXT if names else 0)),
            ]
            written.add(lang, first + number, int(own[0]), texts)
            for concept in rng.permutation(general)[: max(1, len(texts))].tolist():
                name = _pick(concepts[concept].names[lang], rng)
                text = name if rng.random() < 0.5 else contexts.around(name)
                written.add(lang, first + number, concept, [text])
    if not written.texts:
        named = {lang for concept in concepts for lang in concept.names}
        raise UserError(
            f"data.classes is true, but classes have no names in {choices(languages)}; they have some in "
            f"{choices(named)}; add one of these to data.languages, or set data.classes = false, and the weights of the "
            "terms class_names and class_scores to 0"
        )
    sentences = known.plus(Origin.CLASS, written.texts, written.langs, written.groups)
    names_of = ClassSentences(
        first_row=len(known.texts),
        first_group=first,
        concepts=np.asarray(written.concepts, np.int64),
        members=_with_namesakes(concepts, members),
    )
    return sentences.with_classes(names_of)


def _with_namesakes(concepts: Sequence[Concept], members: Bools) -> Bools:
    """The classes that a sentence about a concept may mean: its own, and those of concepts with a common name.

    "Crane" is a bird and a machine; neither is a wrong answer to it.
    """
    sharing: dict[tuple[str, str], list[int]] = {}
    for number, concept in enumerate(concepts):
        for lang, names in concept.names.items():
            for name in names:
                sharing.setdefault((lang, name.casefold()), []).append(number)
    meant = members.copy()
    for numbers in sharing.values():
        meant[numbers] |= members[numbers].any(axis=0)
    return meant


class _Writing:
    """Sentences as they are written."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.langs: list[str] = []
        self.groups: list[int] = []
        self.concepts: list[int] = []

    def add(self, lang: str, group: int, concept: int, texts: Sequence[str]) -> None:
        self.texts += texts
        self.langs += [lang] * len(texts)
        self.groups += [group] * len(texts)
        self.concepts += [concept] * len(texts)


class _Contexts:
    """Parts of the human captions of a language."""

    def __init__(self, known: Sentences, lang: str, rng: np.random.Generator) -> None:
        rows = known.rows(Origin.HUMAN)
        self._texts = [known.texts[row] for row in rows if known.langs[row] == lang]
        self._rng = rng

    def around(self, name: str) -> str:
        """The name before the end of a caption, or after its beginning."""
        if not self._texts:
            return name
        text = self._texts[self._rng.integers(len(self._texts))].strip()
        spaced = " " in text
        words = text.split() if spaced else list(text)
        count = int(self._rng.integers(2, LONGEST_CONTEXT + 1)) * (1 if spaced else 2)
        space = " " if spaced else ""
        if self._rng.random() < 0.7:
            return space.join([name, *words[-count:]])
        return space.join([*words[: count // 2 + 1], name])


def _pick(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]
