"""Honest relevance: the words that a model knows, and how far a score can be trusted."""
