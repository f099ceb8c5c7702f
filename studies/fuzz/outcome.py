"""The result of one case, and how to replay it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["accepted", "rejected", "fault"]


@dataclass(frozen=True)
class Outcome:
    """rejected: with an error that is allowed; fault: anything else, `detail` says which."""

    kind: str
    seed: int
    number: int
    about: str
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        replay = f"python -m studies fuzz --kinds {self.kind} --seed {self.seed} --only {self.number}"
        return f"{self.kind}, seed {self.seed}, case {self.number} ({self.about}): {self.detail}; replay: {replay}"
