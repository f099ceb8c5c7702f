"""The names of feature folders, and the command that makes the features of one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from lingvis.features.backbones import BACKBONES
from lingvis.features.kinds import KINDS


def store_name(backbone: str, kind: str) -> str:
    """The default folder name of a backbone's features."""
    return re.sub(r"[^\w.-]+", "-", f"{backbone}-{kind}")


def extract_command(
    dataset: Path, *, backbone: str, kind: str, regions: str | None = None, name: str | None = None
) -> str:
    """The command that makes such features; the default `name` is omitted."""
    words = ["lingvis", "features", "extract", str(dataset), "--backbone", backbone, "--kind", kind]
    if regions is not None:
        words += ["--regions", regions]
    if name is not None and name != store_name(backbone, kind):
        words += ["--name", name]
    return shlex.join(words)


def command_for(folder: Path) -> str:
    """The command that makes the features of a missing folder, guessed from its name."""
    dataset = folder.parent.parent
    backbone, _, kind = folder.name.rpartition("-")
    if kind not in KINDS:
        return extract_command(dataset, backbone="BACKBONE", kind="KIND", name=folder.name)
    if (
        backbone not in BACKBONES
    ):  # several backbones share a folder name: `timm-resnet50` may be timm:resnet50
        return extract_command(dataset, backbone="BACKBONE", kind=kind, name=folder.name)
    return extract_command(dataset, backbone=backbone, kind=kind)
