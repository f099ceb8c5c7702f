"""Models that come with lingvis: their names, and the folders they are in."""

from __future__ import annotations

from pathlib import Path

from lingvis.errors import UserError

DEFAULT = "lingvis-base"  # used where a model is needed and none is named
NAMES = (DEFAULT,)
SHIPPED = Path(__file__).parent  # has one model folder per name


def find_model(run: str | Path | None = None, *, shipped: Path = SHIPPED) -> Path:
    """The model folder for a path or for the name of a shipped model; without either, that of DEFAULT.

    A folder of the same name in the working directory takes the place of a shipped model that is named. Raises
    UserError if this installation lacks the model. shipped: the folder of all shipped models.
    """
    if run is not None and (str(run) not in NAMES or Path(run).is_dir()):
        return Path(run)
    folder = shipped / (DEFAULT if run is None else str(run))
    if not folder.is_dir():
        raise UserError(
            f"this installation of lingvis lacks its model {folder.name} ({folder} is missing); install lingvis again "
            "from a wheel or a whole checkout, or name a model folder of your own"
        )
    return folder


def is_shipped(folder: Path, *, shipped: Path = SHIPPED) -> bool:
    """Whether a folder is that of a shipped model."""
    return folder.name in NAMES and folder.resolve().parent == shipped.resolve()


def to_reference(folder: Path, *, shipped: Path = SHIPPED) -> str:
    """A text that finds a model folder again: a path, or the name of a shipped model, which moves with its installation."""
    return folder.name if is_shipped(folder, shipped=shipped) else str(folder.resolve())


def from_reference(text: str, *, shipped: Path = SHIPPED) -> Path:
    """The model folder for a text of `to_reference`; it may be gone."""
    return shipped / text if text in NAMES else Path(text)
