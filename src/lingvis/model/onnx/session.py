"""A graph in ONNX, open in onnxruntime."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.printing import printable
from lingvis.untrusted import check_regular

OUTPUT = "embeddings"
SILENT = 4  # level of the log: errors are raised, not printed too


class Graph:
    """A graph whose output is one embedding per row of its inputs; shapes: of the inputs, None where any size fits."""

    def __init__(self, file: Path, shapes: Mapping[str, tuple[int | None, ...]], threads: int) -> None:
        self._file = file
        try:
            for path in file.parent.iterdir():  # a graph may take weights from the files beside it
                if path == file or not path.is_dir():
                    check_regular(path)
            self._session = open_session(str(file), threads)
        except UserError:
            raise
        except Exception as error:  # onnxruntime raises nearly anything on a damaged file
            raise _damaged(file, str(error)) from error
        actual = {each.name: _sizes(each.shape) for each in self._session.get_inputs()}
        if actual != dict(shapes):
            raise _damaged(file, f"it takes {actual}, but the tokenizer and config.json give {dict(shapes)}")
        outputs = {each.name: _sizes(each.shape) for each in self._session.get_outputs()}
        dim = outputs.get(OUTPUT, ())[-1:]
        if len(outputs) != 1 or not dim or dim[0] is None:
            raise _damaged(file, f"it must give {OUTPUT} of one length, got {outputs}")
        self.dim = int(dim[0])

    def __call__(self, **inputs: NDArray[Any]) -> Floats:
        """Embeddings, float32 [batch, dim]."""
        try:
            (embeddings,) = self._session.run([OUTPUT], inputs)
        except Exception as error:  # such as a word beyond the end of the table
            raise _damaged(self._file, f"it cannot be computed: {error}") from error
        if embeddings.shape[1:] != (self.dim,) or not np.isfinite(embeddings).all():
            raise _damaged(self._file, f"its embeddings are not {self.dim} finite numbers")
        return np.asarray(embeddings, np.float32)


def open_session(graph: str | bytes, threads: int) -> Any:
    """A session of onnxruntime for a file or the content of one, on the CPU."""
    runtime = load_onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = threads  # its default counts cores that this process may not use
    return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def load_onnxruntime() -> Any:
    """The onnxruntime library; raises if it is not installed."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise UserError("an exported model needs onnxruntime; run: pip install 'lingvis[onnx]'") from error


def _sizes(shape: list[Any]) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in shape)


def _damaged(file: Path, problem: str) -> UserError:
    first = next(iter(problem.splitlines()), "no reason given")
    return UserError(f"{file} is damaged ({printable(first)}); restore the file or export the model again")
