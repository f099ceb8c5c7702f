"""The optional packages the scenes are made from, asked for only when scenes are made."""

from __future__ import annotations

import importlib
from types import ModuleType

from lingvis.errors import UserError


def extra(module: str) -> ModuleType:
    """Import a package of the `scenes` extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"making scenes needs the package {module!r}, which is not installed; "
            "install it with: pip install 'lingvis[scenes]'"
        ) from error
