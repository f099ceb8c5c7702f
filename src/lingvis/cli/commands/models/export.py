"""`lingvis export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from lingvis.cli.options import Json, ModelFolder, Switch
from lingvis.printing import print_line


def export(
    run: ModelFolder,
    out: Path | None = None,
    /,
    *,
    force: Switch = False,
    json: Json = False,
) -> None:
    """Write a model in ONNX, to index, search and serve with onnxruntime, without torch.

    Parameters
    ----------
    out: Path
        The model folder to write; by default the graphs are added to the folder of the model.
    force: bool
        Replace a model folder that exists.
    """
    from lingvis.cli.output import print_json
    from lingvis.model.onnx.export import export as write

    result = write(run, out, force=force)
    if json:
        print_json(asdict(result))
        return
    print_line(
        f"{out or run}: text side {result.text:,} bytes, image side {result.image:,} bytes, {result.folder:,} bytes in all"
    )
