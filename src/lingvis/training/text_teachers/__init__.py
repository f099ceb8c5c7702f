"""Teachers of the text side: trained text sides whose sentence embeddings a new text side imitates."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.training.text_teachers.contract import TEXT_TEACHERS, NoTeacher, TextTeacher
from lingvis.training.text_teachers.targets import SentenceTargets, find_targets

__all__ = ["TEXT_TEACHERS", "NoTeacher", "SentenceTargets", "TextTeacher", "find_targets"]

import_parts(__name__, __path__)
