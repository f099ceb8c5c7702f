"""The protocols of Translator: from scratch (FS), and two ways of transfer (T1, T2)."""

from __future__ import annotations

from studies.method import Method

FROZEN_IMAGE = 'optimizer.factors={"text.words.vectors" = 0.0, "image" = 0.0}'
FROM_SCRATCH = "fs"  # the only method that takes nothing from the source model
METHODS = {
    FROM_SCRATCH: Method("FS", "translator_fs"),
    "fs-image": Method(
        "FS + image side of the source", "translator_fs", ('start.parts=["image"]', FROZEN_IMAGE)
    ),
    "t1": Method("T1", "translator_t1"),
    "t2-procrustes": Method("T2, Procrustes", "translator_t2", ("text.words.map=procrustes",)),
    "t2-rcsls": Method("T2, RCSLS", "translator_t2", ("text.words.map=rcsls",)),
}
