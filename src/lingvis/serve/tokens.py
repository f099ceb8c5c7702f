"""Tokens that are hard to guess."""

from __future__ import annotations

import re
from itertools import pairwise

from lingvis.errors import UserError

CHARACTERS = 16
UNLIKELY = 6  # different characters, and steps between characters, beyond words and runs like 12345
WORDS = re.compile(
    "password|passwort|passw0rd|secret|token|admin|root|user|login|welcome|letmein|changeme|default|example|test"
    "|iloveyou|monkey|dragon|master|qwertyuiop|qwertzuiop|qwerty|qwertz|asdfghjkl|asdf|zxcvbnm|zxcv|lingvis"
)
REMEDY = "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"


def check_token(token: str) -> None:
    """Raise if a token is short, has characters that a header cannot carry, or is easily guessed."""
    if len(token) < CHARACTERS or not token.isprintable() or not token.isascii():
        raise UserError(f"a token must have at least {CHARACTERS} printable ASCII characters; {REMEDY}")
    if is_weak(token):
        raise UserError(
            f"this token is easily guessed (a word, a row of characters, or a repetition); {REMEDY}"
        )


def is_weak(token: str) -> bool:
    """Return whether little is left of a token without common words, repetitions, and runs of characters."""
    if token in (token + token)[1:-1]:  # a repetition of a shorter text
        return True
    rest = WORDS.sub("", token.lower())
    steps = sum(abs(ord(left) - ord(right)) > 1 for left, right in pairwise(rest))
    return min(len(set(rest)), steps) < UNLIKELY
