"""The report of `align`: how well held-out words find their translations under each map."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import lingvis
from lingvis.hardware import describe_hardware
from lingvis.text.alignment.fit import MapMethod


@dataclass(frozen=True, slots=True)
class MapReport:
    """One map: accuracy at 1 in percent by cosine (nn) and by CSLS, and the seconds it took to fit.

    objective, steps: as in `Alignment`; None for the identity, which is not fitted.
    """

    nn: float
    csls: float
    seconds: float
    objective: list[float] | None = None
    steps: list[float] | None = None

    def as_json(self) -> dict[str, Any]:
        """The values of report.json."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class AlignmentReport:
    """A map between two word spaces: its data, and the accuracy of each map on held-out words.

    maps: `identity` (no map), `procrustes` and, if requested, `rcsls`.
    """

    source: str
    source_words: int
    target: str
    target_words: int
    dim: int
    method: MapMethod
    neighbours: int
    spectral: bool
    seed: int
    fitted_pairs: int
    held_out_pairs: int
    held_out_words: int
    maps: dict[str, MapReport]

    def as_json(self) -> dict[str, Any]:
        """The content of report.json."""
        return {
            "lingvis": lingvis.__version__,
            "source": {"vectors": self.source, "words": self.source_words},
            "target": {"vectors": self.target, "words": self.target_words},
            "dim": self.dim,
            "method": self.method,
            "neighbours": self.neighbours,
            "spectral": self.spectral,
            "seed": self.seed,
            "pairs": {
                "fitted": self.fitted_pairs,
                "held_out": self.held_out_pairs,
                "held_out_words": self.held_out_words,
            },
            "maps": {name: report.as_json() for name, report in self.maps.items()},
            "hardware": describe_hardware(),
        }
