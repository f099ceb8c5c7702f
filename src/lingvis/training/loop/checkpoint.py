"""The checkpoint of a run: one file, complete or absent, with everything needed to resume. Nothing is unpickled."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from pydantic import ConfigDict, TypeAdapter, with_config
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.files import atomic_file
from lingvis.model.folder import CHECKPOINT
from lingvis.model.weights import is_finite
from lingvis.untrusted import check_regular, parse_json

FORMAT = (
    "3"  # 1: recipes had one objective outside the terms; 2: the plateau at the beginning was not followed
)


@with_config(ConfigDict(arbitrary_types_allowed=True))
@dataclass
class TrainingState:
    """Progress of a training: `batch` batches of epoch `epoch` are done.

    identity: of the recipe and the data; only the same identity can resume a checkpoint. matching: sum over `watched` steps
    of this epoch of the matching loss as a share of its blind value; learning_since: the number of epochs before the first
    one after the plateau at the beginning, None while it lasts. seconds: of training so far. These four are known only in a
    run with a folder. scores: of the last validations, whose mean selects. best: weights of the best model on validation,
    after epoch `best_epoch`. average: the moving average of the weights, if there is one.
    """

    identity: str = ""
    step: int = 0
    epoch: int = 0
    batch: int = 0
    matching: float = 0.0
    watched: int = 0
    learning_since: int | None = None
    seconds: float = 0.0
    scores: list[float] = field(default_factory=list)
    best_score: float = float("-inf")
    best_epoch: int = -1
    best: dict[str, Tensor] = field(default_factory=dict)
    average: dict[str, Tensor] = field(default_factory=dict)

    def end_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch, self.batch = self.epoch + 1, 0
        self.matching, self.watched = 0.0, 0


def save_checkpoint(
    folder: Path, state: TrainingState, task: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Write the state, the weights of the task, the best model and the optimiser's moments."""
    tensors = {f"task/{name}": tensor for name, tensor in task.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in state.best.items()}
    tensors |= {f"average/{name}": tensor for name, tensor in state.average.items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": torch.as_tensor(value) for name, value in moments.items()}
    values = asdict(TrainingState(**{**vars(state), "best": {}, "average": {}}))
    # Two names may share one storage (the best model may be the current one), which safetensors rejects: copy.
    flat = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    with atomic_file(folder / CHECKPOINT) as temporary:
        save_file(flat, temporary, metadata={"state": json.dumps(values), "format": FORMAT})


def check_checkpoint(folder: Path, identity: str) -> TrainingState:
    """The state of a run without its tensors; raises if the run cannot be resumed."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise UserError(f"{folder} has no checkpoint to resume from; start the run without `resume`")
    with _damage_reported(path):
        check_regular(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        state = TypeAdapter(TrainingState).validate_python({**parse_json(metadata["state"]), "best": {}})
        written = metadata.get("format", "1")
    if written != FORMAT:
        raise UserError(
            f"{folder} was begun by another version of lingvis (checkpoint format {written}, this one has {FORMAT}); "
            "finish it with that version, or delete the folder and train again"
        )
    if state.identity != identity:
        raise UserError(
            f"{folder} was begun with another recipe, other values or other data; resume it with the same ones"
        )
    return state


def load_checkpoint(
    folder: Path, identity: str, task: nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState:
    """Restore the task and the optimiser to the state that `save_checkpoint` wrote."""
    state = check_checkpoint(folder, identity)
    path = folder / CHECKPOINT
    with _damage_reported(path), safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        for name, tensor in tensors.items():
            if not is_finite(tensor):
                raise ValueError(f"{name} has a value that is not a finite number")
        task.load_state_dict(_under(tensors, "task"), strict=True)
        state.best = _under(tensors, "best")
        device = next(task.parameters()).device
        state.average = {name: tensor.to(device) for name, tensor in _under(tensors, "average").items()}
        optimizer.load_state_dict(
            {"state": _moments(tensors, optimizer), "param_groups": optimizer.state_dict()["param_groups"]}
        )
    return state


def _moments(tensors: dict[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """The optimiser's moments by the number of the parameter; raises unless they have its shape."""
    shapes = [parameter.shape for group in optimizer.param_groups for parameter in group["params"]]
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _under(tensors, "optimizer").items():
        index, key = name.split("/")
        if tensor.ndim and tensor.shape != shapes[int(index)]:
            raise ValueError(f"optimizer/{name} has the shape {list(tensor.shape)}")
        moments.setdefault(int(index), {})[key] = tensor
    return moments


@contextlib.contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    """Report a checkpoint that cannot be read as a UserError."""
    try:
        yield
    except (SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise UserError(f"{path} is damaged ({reason}); delete its folder and train again") from error


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = prefix + "/"
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
