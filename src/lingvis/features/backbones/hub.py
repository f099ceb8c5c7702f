"""Weights from a hub are fetched only if the user names the network, never because a model folder does."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from lingvis.errors import UserError


@contextlib.contextmanager
def without_hub(backbone: str) -> Iterator[None]:
    """Use only weights that are on this machine; raises UserError with the way to fetch the others."""
    try:
        constants: Any = importlib.import_module("huggingface_hub.constants")
    except ImportError:  # no library that could fetch anything
        yield
        return
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    except UserError as error:
        raise UserError(
            f"{error}; a model folder fetches nothing, so fetch the weights once, if you trust them, with: "
            f"python -c \"import lingvis.features.backbones as b; b.load_backbone('{backbone}')\""
        ) from error
    finally:
        constants.HF_HUB_OFFLINE = before
