"""Pixels -> stored vectors, once: backbones, the memory-mapped store, resumable extraction."""
