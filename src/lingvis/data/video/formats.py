"""Formats of videos, and the names of their files; this module imports nothing heavy."""

from __future__ import annotations

import importlib.util

ALL_SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi"})
SUFFIXES = ALL_SUFFIXES if importlib.util.find_spec("av") else frozenset[str]()
FORMATS = ("MP4", "MOV", "WEBM", "MKV", "AVI")
