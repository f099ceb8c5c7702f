"""Similarities: two sides -> scores. Importing this package registers every similarity."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.similarity.base import SIMILARITIES, Similarity
from lingvis.similarity.cross_attention import CrossAttention
from lingvis.similarity.measures import Cosine, Order

__all__ = ["SIMILARITIES", "Cosine", "CrossAttention", "Order", "Similarity"]

import_parts(__name__, __path__)
