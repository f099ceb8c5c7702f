"""Bounds for the constructor arguments of parts, checked when a recipe is read."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(gt=0, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Epoch = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
