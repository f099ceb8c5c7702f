"""Apertium: rule-based translation between related languages, by a program installed on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from lingvis.errors import UserError, choices
from lingvis.text.lexicon.iso639 import spellings
from lingvis.text.translators.contract import TRANSLATORS, translate_lines

_INSTALL = "for example: apt-get install apertium apertium-eng-spa"


@TRANSLATORS.register("apertium", "the program Apertium with the pairs installed on this machine")
class ApertiumTranslator:
    """Translates all sentences of a call in one process.

    Forcada et al. 2011, "Apertium: a free/open-source platform for rule-based machine translation".
    """

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        pairs = _run(["-l"]).split()
        names = [f"{first}-{second}" for first in spellings(source) for second in spellings(target)]
        pair = next((name for name in names if name in pairs), None)
        if pair is None:
            raise UserError(
                f"Apertium cannot translate {source} into {target}; installed pairs: {choices(pairs)}; "
                f"install another, {_INSTALL}"
            )
        return translate_lines(texts, lambda lines: _translate(lines, pair))


def _translate(lines: list[str], pair: str) -> list[str]:
    # Only an empty line ends a sentence; Apertium moves words across a line break ("red", "car" -> "coche", "rojo").
    done = _run(["-u", pair], "\n\n".join(lines)).split("\n\n")
    if len(done) != len(lines):
        raise UserError(
            f"Apertium's pair {pair} turned {len(lines)} sentences into {len(done)}; translate fewer at a time "
            "to find the sentence that is split"
        )
    return [line.strip() for line in done]


def _run(arguments: list[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            ["apertium", *arguments],
            input=text.encode(errors="replace"),
            capture_output=True,
            check=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError as error:
        raise UserError(
            f"the program apertium is not installed; install it and a pair, {_INSTALL}"
        ) from error
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip()
        raise UserError(
            f"apertium {' '.join(arguments)} failed: {message}; check that it runs on its own"
        ) from error
    return done.stdout.decode()
