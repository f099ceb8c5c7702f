"""The contract of translators, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from lingvis.registry import Registry


@runtime_checkable
class Translator(Protocol):
    """Sentences of one language -> the same sentences in another; any function with this signature is a translator."""

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]: ...


TRANSLATORS: Registry[Callable[..., Translator]] = Registry("translator")


def translate_lines(texts: Sequence[str], translate: Callable[[list[str]], list[str]]) -> list[str]:
    """Translate each distinct sentence once, as one line; empty sentences stay empty."""
    lines = [" ".join(text.split()) for text in texts]
    distinct = list(dict.fromkeys(filter(None, lines)))
    translations = dict(zip(distinct, translate(distinct), strict=True)) if distinct else {}
    return [translations.get(line, "") for line in lines]
