"""The built-in demo data: composed pictures with captions in 14 languages."""

from __future__ import annotations

from lingvis.data.scenes.make import make_scenes
from lingvis.data.scenes.names import LANGUAGES

__all__ = ["LANGUAGES", "make_scenes"]
