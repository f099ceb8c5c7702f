"""Translators: sentences of one language -> sentences of another, by installed programs or libraries."""

from lingvis.text.translators.apertium import ApertiumTranslator
from lingvis.text.translators.choose import choose_translator
from lingvis.text.translators.contract import TRANSLATORS, Translator
from lingvis.text.translators.memory import TranslationMemory
from lingvis.text.translators.neural import ArgosTranslator, FastTranslator

__all__ = [
    "TRANSLATORS",
    "ApertiumTranslator",
    "ArgosTranslator",
    "FastTranslator",
    "TranslationMemory",
    "Translator",
    "choose_translator",
]
