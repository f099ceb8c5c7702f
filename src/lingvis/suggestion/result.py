"""The typed result of `suggest`: the pictures, and the reason for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A picture to annotate; see `Choice` for the fields. uncertainty is None without a model."""

    image: str
    alike: int
    annotated: int
    typicality: float
    uncertainty: float | None

    @property
    def reason(self) -> str:
        """The reason in words."""
        if self.alike == 1:
            kind = "no other picture is similar"
        else:
            kind = (
                f"one of {self.alike} alike, {self.annotated or 'none'} of them annotated or suggested before"
            )
        if self.uncertainty is None:
            return kind
        return f"{kind}; the model is less sure of it than of {self.uncertainty:.0%} of the pictures without captions"


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Pictures of split train to annotate, best first.

    known: number of pictures with captions (in `lang`, if given); candidates: number without; asked: number
    requested.
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
        return head | {
            "pictures": [asdict(picture) | {"reason": picture.reason} for picture in self.pictures]
        }

    def lines(self) -> str:
        """One picture per line, the format of data.annotated."""
        return "".join(f"{picture.image}\n" for picture in self.pictures)
