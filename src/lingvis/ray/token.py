"""The token without which nobody may use a cluster, in the variables that Ray reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

MODE, TOKEN, DISABLED = "RAY_AUTH_MODE", "token", "disabled"
# With this, Ray binds every port to the loopback interface.
LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def new_token() -> dict[str, str]:
    """Return variables that protect a new cluster by a random token, which is stored nowhere."""
    return {MODE: TOKEN, "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def has_token() -> bool:
    """Return whether the user has a token, in a variable or in the file that Ray looks for."""
    file = os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    return bool(os.environ.get("RAY_AUTH_TOKEN")) or Path(file).is_file()
