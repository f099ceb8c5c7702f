"""The log of a run: log.jsonl, TensorBoard files where that library is installed, and curves.png."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingvis.errors import UserError
from lingvis.files import atomic_file, write_text
from lingvis.untrusted import parse_json, read_bytes

FILE = "log.jsonl"
CURVES = "curves.png"


class RunLog:
    """Appends one JSON object per line; reopened after a kill, it drops records later than the checkpoint."""

    def __init__(self, folder: Path, *, from_step: int, from_epoch: int) -> None:
        self._path = folder / FILE
        self.records = [
            record
            for record in read_log(folder)
            if record["step"] <= from_step and record.get("epoch", 0) <= from_epoch
        ]
        write_text(self._path, "".join(json.dumps(record) + "\n" for record in self.records))
        self._file = self._path.open("a", encoding="utf-8")
        self._board = _tensorboard(folder / "tensorboard", from_step)

    def write(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Record numbers of a step; TensorBoard shows nested numbers as NAME/KEY."""
        record = {"kind": kind, "step": step, **values}
        self.records.append(record)
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                for key, number in value.items() if isinstance(value, dict) else [("", value)]:
                    self._board.add_scalar(f"{kind}/{name}/{key}".rstrip("/"), number, step)

    def close(self) -> None:
        """Flush everything."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The records of a run; a last line cut off by a kill is dropped."""
    path = folder / FILE
    try:
        lines = read_bytes(path).decode("utf-8").split("\n")
        return [_record(line) for line in lines[:-1]]
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise UserError(
            f"{path} is damaged ({error}); delete it; the run resumes without its earlier log"
        ) from error


def _record(line: str) -> dict[str, Any]:
    record = parse_json(line)
    numbers = {"train": ("loss", "lr"), "val": ("mR",)}
    if not isinstance(record, dict) or record.get("kind") not in numbers:
        raise ValueError("a line is not a record of training or validation")
    for name in ("step", *numbers[record["kind"]]):
        if not isinstance(record.get(name), int | float):
            raise ValueError(f"a record has no number {name!r}")
    return record


def draw_curves(folder: Path, records: list[dict[str, Any]]) -> None:
    """curves.png: loss with its terms and learning rate by step, validation score by epoch."""
    from matplotlib.figure import Figure

    steps = [record for record in records if record["kind"] == "train"]
    epochs = [record for record in records if record["kind"] == "val"]
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    loss, rate, score = (figure.add_subplot(1, 3, place) for place in (1, 2, 3))
    loss.plot([row["step"] for row in steps], [row["loss"] for row in steps], label="loss")
    terms = dict.fromkeys(name for row in steps for name in row.get("terms", {}))
    for name in terms if len(terms) > 1 else ():
        points = [(row["step"], row["terms"][name]) for row in steps if name in row.get("terms", {})]
        loss.plot(*zip(*points, strict=True), label=name, linewidth=1)
    if len(terms) > 1:
        loss.legend(fontsize="x-small")
    if steps:
        loss.set_yscale("log")  # all negatives or the hardest: sums of very different size
    rate.plot([row["step"] for row in steps], [row["lr"] for row in steps])
    score.plot([row["step"] for row in epochs], [row["mR"] for row in epochs], marker=".")
    for axes, title in ((loss, "training loss"), (rate, "learning rate"), (score, "validation mR")):
        axes.set(title=title, xlabel="step")
        axes.grid(alpha=0.3)
    with atomic_file(folder / CURVES) as temporary:
        figure.savefig(temporary, dpi=120)


def _tensorboard(folder: Path, from_step: int) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=from_step + 1)
