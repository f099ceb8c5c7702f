"""Options that several commands share: one type, one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

COLLECTION = (
    "The collection folder, postgresql://USER@HOST/DATABASE?collection=NAME, milvus://HOST:PORT/NAME, or a folder of "
    "pictures."
)

DatasetFolder = Annotated[Path, Parameter(help="The dataset folder.")]
DatasetWithFeatures = Annotated[Path, Parameter(help="The dataset folder, with features extracted.")]
ModelFolder = Annotated[Path, Parameter(help="The model folder, or lingvis-base.")]
FolderOrCollection = Annotated[str, Parameter(help=COLLECTION)]
SearchModel = Annotated[
    Path | None,
    Parameter(help="A model folder with the same image side as the model that indexed the collection."),
]

Device = Annotated[str | None, Parameter(help="cpu or cuda; by default a GPU if there is one.")]
Switch = Annotated[bool, Parameter(show_default=False)]
Json = Annotated[bool, Parameter(help="Print JSON.", show_default=False)]
Langs = Annotated[
    list[str] | None, Parameter(name="--lang", help="Only this language; may be given several times.")
]
Count = Annotated[int, Parameter(validator=Number(gte=1))]
Seed = Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))]
Ray = Annotated[
    list[str] | None,
    Parameter(
        consume_multiple=(0, 1),
        help="Spread the work over a Ray cluster: this machine alone, or an address "
        "(auto, HOST:PORT, ray://HOST:PORT).",
    ),
]
