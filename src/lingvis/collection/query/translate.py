"""A query in the other languages of a model, so that all languages are searched at once (CLC-A)."""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.errors import UserError
from lingvis.text.translators.contract import Translator


def in_all_languages(
    text: str, lang: str, languages: Sequence[str], translator: Translator
) -> dict[str, str]:
    """Return a sentence by language: the original, and every translation that the translator offers.

    If the translator offers none, its error is raised.
    """
    by_language = {lang: text}
    problem: UserError | None = None
    for other in languages:
        if other == lang:
            continue
        try:
            translation = translator([text], lang, other)[0]
        except UserError as error:  # a translator may lack a pair of languages
            problem = error
            continue
        if translation.strip():
            by_language[other] = translation
    if len(by_language) == 1 and problem is not None:
        raise problem
    return by_language
