"""Optional packages for scenes, imported only when scenes are made."""

from __future__ import annotations

import importlib
from types import ModuleType

from lingvis.errors import UserError


def extra(module: str) -> ModuleType:
    """Import a package of the extra `scenes`; raises with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"making scenes needs the package {module!r}, which is not installed; "
            "install it with: pip install 'lingvis[scenes]'"
        ) from error
