"""`lingvis compress`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal

from lingvis.cli.options import Json, ModelFolder, Switch
from lingvis.printing import print_line


def compress(
    run: ModelFolder,
    out: Path,
    /,
    *,
    weights: Literal["float16", "int8"] = "int8",
    force: Switch = False,
    json: Json = False,
) -> None:
    """Write a model with weights of fewer bits: a half (float16) or a quarter (int8) of the size.

    Parameters
    ----------
    out: Path
        The model folder to write.
    weights: str
        float16, or int8 with one scale per row.
    force: bool
        Replace a model folder that exists.
    """
    from lingvis.cli.output import print_json
    from lingvis.model.compress import compress as write

    result = write(run, out, weights=weights, force=force)
    if json:
        print_json(asdict(result))
        return
    print_line(
        f"{out}: weights {result.weights_before:,} -> {result.weights_after:,} bytes in {weights}, "
        f"{result.folder:,} bytes in all"
    )
