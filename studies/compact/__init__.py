"""Shorter embeddings, and many pictures that are no answer."""
