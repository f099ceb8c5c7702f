"""Stage 6, objectives: scores and positives -> a scalar that training minimises.

Registered in `OBJECTIVES` under the names recipes use. In a score matrix an entry of minus infinity that is not
positive takes no part: it is nobody's negative.
"""

from __future__ import annotations

from lingvis.objectives.contrastive import Contrastive
from lingvis.objectives.distilled import Distilled
from lingvis.objectives.ranking import OBJECTIVES, Ranking
from lingvis.objectives.top_triplet import TopTriplet

__all__ = ["OBJECTIVES", "Contrastive", "Distilled", "Ranking", "TopTriplet"]
