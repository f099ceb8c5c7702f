"""Translators: sentences of one language -> another, by programs, libraries or a dataset's parallel sentences."""

from lingvis.text.translators.apertium import ApertiumTranslator
from lingvis.text.translators.contract import TRANSLATORS, Translator
from lingvis.text.translators.neural import ArgosTranslator, FastTranslator
from lingvis.text.translators.parallel import ParallelTranslator

__all__ = [
    "TRANSLATORS",
    "ApertiumTranslator",
    "ArgosTranslator",
    "FastTranslator",
    "ParallelTranslator",
    "Translator",
]
