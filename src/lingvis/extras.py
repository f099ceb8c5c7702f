"""Packages that only some extras install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lingvis.errors import UserError

# Package -> the smallest extra that installs it.
EXTRAS = {
    "torch": "train",
    "matplotlib": "train",
    "efficientnet_lite_pytorch": "train",
    "onnxruntime": "onnx",
    "onnx": "export",
    "py3langid": "index",
    "fastapi": "serve",
    "prometheus_client": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "av": "video",
}


@contextmanager
def report_missing() -> Iterator[None]:
    """Report a package that is not installed as a UserError with the extra that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise UserError(
            f"this needs {package}, which is not installed; run: pip install 'lingvis[{EXTRAS[package]}]'"
        ) from error
