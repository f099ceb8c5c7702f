"""Which pictures to annotate next: typical ones of every kind, those first that a model is unsure of."""

from lingvis.suggestion.choose import choose
from lingvis.suggestion.clusters import cluster

__all__ = ["choose", "cluster"]
