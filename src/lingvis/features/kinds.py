"""The kinds of features; this module needs no torch."""

from __future__ import annotations

from typing import Literal, get_args

from lingvis.errors import UserError, choices

Kind = Literal["global", "grid", "region", "pixels", "frames"]
RegionMode = Literal["crop", "pooled"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REGION_MODES: tuple[RegionMode, ...] = get_args(RegionMode)
# The default: one pass of the backbone per picture, for any number of boxes.
POOLED: RegionMode = "pooled"


def check_kind(kind: str, regions: str) -> tuple[Kind, RegionMode | None]:
    """Both arguments as literals, the region mode only for kind `region`; raises for an unknown value."""
    if kind not in KINDS:
        raise UserError(f"unknown kind of features {kind!r}; choose one of: {choices(KINDS)}")
    if regions not in REGION_MODES:
        raise UserError(f"unknown region mode {regions!r}; choose one of: {choices(REGION_MODES)}")
    return kind, regions if kind == "region" else None
