"""`lingvis calibrate`."""

from __future__ import annotations

from pathlib import Path

from lingvis.cli.options import DatasetFolder, Device, Json, ModelFolder
from lingvis.printing import print_line


def calibrate(
    run: ModelFolder,
    dataset: DatasetFolder,
    /,
    *,
    out: Path | None = None,
    split: str = "val",
    device: Device = None,
    json: Json = False,
) -> None:
    """Fit what scores mean (strong, likely, weak) on held-out pictures, and store it with the words that the model knows.

    Parameters
    ----------
    out: Path
        The model folder to write into; by default the first one.
    split: str
        The split of held-out pictures; the known words come from split train.
    """
    from lingvis.cli.output import print_json
    from lingvis.relevance.run import calibrate as fit

    result = fit(run, dataset, out=out, split=split, device=device)
    fitted = result.calibration
    if json:
        print_json(
            {"model": str(result.path), "known_words": result.known_words, **fitted.model_dump(mode="json")}
        )
        return
    print_line(
        f"{result.path}: calibrated on {fitted.source.right:,} right and {fitted.source.wrong:,} wrong hits of "
        f"{fitted.source.pictures:,} pictures; {result.known_words:,} known words"
    )
