"""Suggest pictures to annotate next: typical pictures of every kind, the most uncertain for a model first."""

from lingvis.suggestion.choose import Choice, choose
from lingvis.suggestion.clusters import cluster
from lingvis.suggestion.result import Suggestion, Suggestions
from lingvis.suggestion.uncertainty import standing_out, uncertainty

__all__ = ["Choice", "Suggestion", "Suggestions", "choose", "cluster", "standing_out", "uncertainty"]
