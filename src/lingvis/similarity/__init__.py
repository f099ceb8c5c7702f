"""Stage 5, two sides -> scores; importing it registers every similarity."""

from lingvis.similarity import cross_attention, measures

__all__ = ["cross_attention", "measures"]
