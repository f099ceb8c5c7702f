"""Forms of A3VSE that are compared on val before the grid: what the paper leaves open, one by one and together.

Every form sets all values of FIRST_FORM, so that it stays the same form when the shipped recipe becomes another one.
"""

from __future__ import annotations

from studies.method import NO_PSEUDO_CAPTIONS, Method

NO_ADVERSARIES = "terms.domains.weight=0"
# The form of the first grid: one temperature, the mean over the batch, 0.03 of the paper's adversaries.
FIRST_FORM = (
    "image.pooling.temperature=0.05",
    "text.pooling.temperature=0.05",
    'terms.matching.objective={ name = "top_triplet", margin = 0.2, hardest = 1 }',
    'terms.pseudo.objective={ name = "top_triplet", margin = 0.3, hardest = 1 }',
    "terms.domains.weight=0.03",
    'image.augment={ name = "none" }',
    "text.encoder.dropout=0.0",
    "optimizer.factors={}",
    "optimizer.lr=5e-4",
    "schedule.epochs=[16]",
    "training.epochs=24",
)
# LSTM states are small: with 0.05 the heads over words are nearly a mean.
WORDS = ("text.pooling.temperature=1.0",)
# The sum over the batch, as VSE++ and SCAN have it, with the paper's weights of the adversaries.
SUM = (
    'terms.matching.objective={ name = "ranking", margin = 0.2, schedule = "hardest" }',
    'terms.pseudo.objective={ name = "ranking", margin = 0.3, schedule = "hardest" }',
    "terms.domains.weight=1.0",
)
# The same, with all negatives in the first epoch.
WARMUP = (
    'terms.matching.objective={ name = "ranking", margin = 0.2, schedule = "warmup", warmup_epochs = 1 }',
    'terms.pseudo.objective={ name = "ranking", margin = 0.3, schedule = "warmup", warmup_epochs = 1 }',
    "terms.domains.weight=1.0",
)
DROPOUT = ("text.encoder.dropout=0.5", 'image.augment={ name = "drop", p = 0.2 }')
FROZEN = ('optimizer.factors={ "text.words" = 0.0 }',)
# Half the epochs at a fifth of the rate, from the weights of a whole training without adversaries.
CONTINUED = ("optimizer.lr=1e-4", "schedule.epochs=[8]", "training.epochs=12")
START = (NO_ADVERSARIES, "optimizer.lr=5e-4", "schedule.epochs=[16]", "training.epochs=24")
TOGETHER = (*WORDS, *WARMUP, *DROPOUT, *FROZEN)


def _form(label: str, *changes: str, first: tuple[str, ...] = ()) -> Method:
    return Method(label, "a3vse", (*FIRST_FORM, *changes), first)


FORMS = {
    "first": _form("first form"),
    "words": _form("temperature 1 over words", *WORDS),
    "sum": _form("sum over the batch, adversaries x 1", *SUM),
    "warmup": _form("the same, all negatives in epoch 1", *WARMUP),
    "start": _form("start without adversaries", *CONTINUED, first=START),
    "dropout": _form("dropout", *DROPOUT),
    "frozen": _form("words frozen", *FROZEN),
    "words-sum": _form("temperature 1, sum", *WORDS, *SUM),
    "words-warmup": _form("temperature 1, sum, all negatives first", *WORDS, *WARMUP),
    "words-warmup-dropout": _form("the same, dropout", *WORDS, *WARMUP, *DROPOUT),
    "words-warmup-frozen": _form(
        "temperature 1, sum, all negatives first, words frozen", *WORDS, *WARMUP, *FROZEN
    ),
    "together": _form("together: the same, dropout and words frozen", *TOGETHER),
    "together-strong": _form("together, adversaries x 4", *TOGETHER, "terms.domains.weight=4.0"),
    "together-start": _form("together, start without adversaries", *TOGETHER, *CONTINUED, first=START),
    "together-no-adversaries": _form("together, without adversaries", *TOGETHER, NO_ADVERSARIES),
    "together-no-s": _form("together, no s", *TOGETHER, *NO_PSEUDO_CAPTIONS),
    "together-regions": _form("together, s of the regions alone", *TOGETHER, 'pseudo.detections=""'),
}
