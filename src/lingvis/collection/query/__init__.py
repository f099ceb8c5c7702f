"""Queries: words, a picture, or both -> query vectors."""
