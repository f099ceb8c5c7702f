"""The translator for a pair of languages."""

from __future__ import annotations

from lingvis.errors import UserError
from lingvis.text.translators.contract import TRANSLATORS


def choose_translator(source: str, target: str, name: str | None = None) -> str:
    """The name of the first installed translator that has the pair; with `name`, raises unless that one has it."""
    problems = []
    for candidate in TRANSLATORS.names() if name is None else [name]:
        try:
            TRANSLATORS.get(candidate)()([], source, target)  # raises before it looks at the sentences
        except UserError as error:
            if name is not None:
                raise
            problems.append(f"{candidate}: {error}")
        else:
            return candidate
    raise UserError(f"no installed translator translates {source} into {target}; install one:", problems)
