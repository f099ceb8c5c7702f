"""Small multilingual visual-semantic embeddings: train, measure and search pictures in many languages."""

from __future__ import annotations

__version__ = "0.1.0"
