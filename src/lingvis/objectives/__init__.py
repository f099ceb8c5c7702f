"""Stage 6, objectives: scores and positives -> a scalar that training minimises.

Registered in `OBJECTIVES` under the names recipes use. A non-positive entry of minus infinity in a score matrix
is ignored: it is not a negative.
"""

from __future__ import annotations

from lingvis.objectives.base import BEGINNING, OBJECTIVES, Objective
from lingvis.objectives.contrastive import Contrastive
from lingvis.objectives.ranking import Ranking
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.registry import import_parts

__all__ = ["BEGINNING", "OBJECTIVES", "Contrastive", "Objective", "Ranking", "TopTriplet"]

import_parts(__name__, __path__)
