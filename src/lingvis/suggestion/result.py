"""What a suggestion says: the pictures, and why each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A picture to annotate; see `Choice` and `uncertainty`, which is None without a model."""

    image: str
    alike: int
    annotated: int
    typicality: float
    uncertainty: float | None

    @property
    def reason(self) -> str:
        """In words."""
        if self.alike == 1:
            kind = "no other picture is like it"
        else:
            kind = (
                f"one of {self.alike} alike, {self.annotated or 'none'} of them annotated or suggested before"
            )
        if self.uncertainty is None:
            return kind
        return f"{kind}; the model is less sure of it than of {self.uncertainty:.0%} of the pictures without captions"


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Pictures of split train, those to annotate first at the front.

    known: how many have captions, in `lang` where one was asked for; candidates: how many have none; asked: how
    many were wished for.
    """

    dataset: str
    features: str
    model: str | None
    lang: str | None
    seed: int
    known: int
    candidates: int
    asked: int
    pictures: Sequence[Suggestion]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        head = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "pictures"}
        return head | {"pictures": [asdict(each) | {"reason": each.reason} for each in self.pictures]}

    def lines(self) -> str:
        """One picture a line, as data.annotated takes them."""
        return "".join(f"{each.image}\n" for each in self.pictures)
