"""Words and concepts that the captions of pictures mention: words with their endings, concepts by any of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from lingvis.arrays import Bools
from lingvis.data.class_names import Concept
from lingvis.data.dataset import Captions
from lingvis.text.segment import words

# "Hunde" and "Hunden" mention what "Hund" names; of words of three letters only those with s or es: "card" is no "car".
LONGEST_ENDING, SHORTEST_STEM = 2, 4
PLURALS, SHORTEST_PLURAL = ("s", "es"), 3


class MentionedWords:
    """The captions in one language: the words of each picture, mentions: bool [pictures, words]."""

    def __init__(self, captions: Captions, lang: str) -> None:
        self.lang = lang
        self.rows = [row for row, each in enumerate(captions.langs) if each == lang]
        self.pieces = {row: words(captions.texts[row], lang) for row in self.rows}
        self.place = {word: place for place, word in enumerate(sorted(set().union(*self.pieces.values())))}
        self.mentions = np.zeros((len(captions.images), len(self.place)), bool)
        for row in self.rows:
            self.mentions[captions.image_of[row], self.places(row)] = True
        described = max(1, int(self.mentions.any(axis=1).sum()))
        self.rarity = np.log(described / np.maximum(1, self.mentions.sum(axis=0)))
        self._forms: dict[str, list[int]] = defaultdict(list)
        for word, place in self.place.items():
            for ending in range(LONGEST_ENDING + 1):
                stem, rest = word[: len(word) - ending], word[len(word) - ending :]
                shortest = SHORTEST_PLURAL if rest in PLURALS else SHORTEST_STEM
                if not ending or len(stem) >= shortest:
                    self._forms[stem].append(place)

    def places(self, row: int) -> list[int]:
        """The numbers of the words of a caption."""
        return [self.place[word] for word in set(self.pieces[row])]

    def mentioned(self, name: str) -> Bools:
        """The pictures whose captions mention every word of a name, bool [pictures]."""
        pieces = words(name, self.lang)
        found = np.full(len(self.mentions), bool(pieces))
        for piece in pieces:
            found &= self.mentions[:, self._forms.get(piece, [])].any(axis=1)
        return found


class MentionedConcepts:
    """Pictures whose captions in any language mention a concept.

    right: the concept or a narrower one, such as "terrier" for dog; related: a broader one, such as "dog" for terrier, so
    that the picture may show it; both bool [pictures, concepts].
    """

    def __init__(self, concepts: Sequence[Concept], languages: Iterable[MentionedWords]) -> None:
        covered = np.zeros((len(concepts), 1 + max(max(each.classes) for each in concepts)), np.float32)
        for row, concept in enumerate(concepts):
            covered[row, concept.classes] = 1
        # narrower[c, d]: every class of d is one of c
        narrower = covered @ covered.T >= covered.sum(axis=1)
        self.of_name: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, concept in enumerate(concepts):
            for lang, names in concept.names.items():
                for name in dict.fromkeys(names):
                    self.of_name[lang, name].append(number)
        mentions = np.zeros((0, len(concepts)), bool)
        for words_of in languages:
            if not len(mentions):
                mentions = np.zeros((len(words_of.mentions), len(concepts)), bool)
            for (lang, name), numbers in self.of_name.items():
                # A name of two things, such as "crane", does not tell which of them is meant.
                if lang == words_of.lang and (widest := _widest(numbers, narrower)):
                    mentions[:, widest] |= words_of.mentioned(name)[:, None]
        found = mentions.astype(np.float32)
        self.right: Bools = found @ narrower.T.astype(np.float32) > 0
        self.related: Bools = found @ narrower.astype(np.float32) > 0


def _widest(numbers: Sequence[int], narrower: Bools) -> list[int]:
    """Those of the concepts that cover all the others."""
    return [number for number in numbers if narrower[number, list(numbers)].all()]
