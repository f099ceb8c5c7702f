"""How many translations share a latent token: what a latent vocabulary of several languages is for."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from lingvis.text.alignment.induction import induce_dictionary
from lingvis.text.words.latent import Assignment
from lingvis.training.word_recall import HeldOutSentences


def shared_tokens(assignment: Assignment, held_out: HeldOutSentences, special: int) -> float | None:
    """The share of pairs of translations with one latent token, in percent; None if there is no pair.

    Pairs are the mutual best translations between the first language and each other one, induced from the held-out
    sentences about the same pictures. special: the number of the first ids, which are not words.
    """
    bank = held_out.bank
    token_of = assignment.token_of.tolist()
    ids = bank.batch(np.arange(len(bank))).ids.tolist()  # the padding is special too
    # Words by language and picture.
    bags: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row, lang, group in zip(ids, bank.langs.tolist(), held_out.groups.tolist(), strict=True):
        bags[lang][group] += [str(word) for word in row if word >= special]
    first = min(bags, default=0)
    shared: list[bool] = []
    for lang in sorted(bags.keys() - {first}):
        both = bags[first].keys() & bags[lang].keys()
        sentences = [(bags[lang][group], bags[first][group]) for group in sorted(both)]
        for word, (translation,) in induce_dictionary(sentences).items():
            shared.append(token_of[int(word)] == token_of[int(translation)])
    return 100 * sum(shared) / len(shared) if shared else None
