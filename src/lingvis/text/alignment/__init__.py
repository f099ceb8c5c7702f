"""Word-space maps: word vectors of two languages and a dictionary -> both languages in one space."""

from lingvis.text.alignment.accuracy import Accuracy, accuracy
from lingvis.text.alignment.fit import MapMethod, fit_map
from lingvis.text.alignment.induction import induce_dictionary
from lingvis.text.alignment.parallel import parallel_words
from lingvis.text.alignment.prepare import prepare
from lingvis.text.alignment.procrustes import procrustes
from lingvis.text.alignment.rcsls import Alignment, RcslsOptions, rcsls

__all__ = [
    "Accuracy",
    "Alignment",
    "MapMethod",
    "RcslsOptions",
    "accuracy",
    "fit_map",
    "induce_dictionary",
    "parallel_words",
    "prepare",
    "procrustes",
    "rcsls",
]
