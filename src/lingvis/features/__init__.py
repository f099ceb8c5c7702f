"""Stage 2, features: pictures -> stored vectors and detected regions, computed once and resumable.

Backbones turn pictures into vectors (`extract`, a memory-mapped store), detectors find things in them (`detect`).
"""
