"""A process that runs cases one after the other, so that a crash or hang is seen from outside.

Prints one line of JSON before each case and one after it.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from studies.fuzz.outcome import Verdict

MEMORY = 12 * 2**30  # bytes of addresses: a case that asks for more fails instead of filling the machine
Result = tuple[Verdict, str]


def decode_picture(seed: int, number: int, folder: Path) -> tuple[str, Callable[[], Result]]:
    """Decode a damaged picture."""
    from lingvis.features.pictures import BrokenPicture, decode
    from lingvis.model.folder import ModelConfig
    from studies.fuzz.pictures import picture_case
    from studies.fuzz.target import Target

    name, data = picture_case(seed, number)
    preprocessing = ModelConfig.read(Target(folder).model).features.preprocessing
    assert preprocessing is not None

    def check() -> Result:
        try:
            decode(io.BytesIO(data), [], preprocessing, crops=False)
        except BrokenPicture as error:
            return (
                ("rejected", str(error))
                if _is_sentence(str(error))
                else ("fault", f"not one line: {error!r}")
            )
        return "accepted", ""

    return name, check


def load_model(seed: int, number: int, folder: Path) -> tuple[str, Callable[[], Result]]:
    """Load a damaged model folder by itself and by `lingvis search`."""
    from lingvis.cli import main as lingvis
    from lingvis.errors import UserError
    from lingvis.model.embedder import Embedder
    from studies.fuzz.model_folders import model_case
    from studies.fuzz.target import Target

    target, copy = Target(folder), folder / "damaged"
    about = model_case(seed, number, target.model, copy)

    def check() -> Result:
        try:
            Embedder.load(copy, device="cpu")
        except UserError as error:
            if not _is_sentence(str(error)):
                return "fault", f"not one line: {str(error)!r}"
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
                raise
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            try:
                lingvis(["search", str(target.collection), "dog", "--model", str(copy), "--device", "cpu"])
            except SystemExit as end:
                if end.code == 2 and _is_sentence(errors.getvalue().strip()):
                    return "rejected", errors.getvalue().strip()
                return "fault", f"exit code {end.code}: {errors.getvalue()[-500:]!r}"
        return "accepted", ""

    return about, check


CHECKS = {"pictures": decode_picture, "models": load_model}


def _is_sentence(text: str) -> bool:
    """Whether an error is one line without control characters."""
    return text.isprintable() and text != "" and "Traceback" not in text


def run_cases() -> None:
    """Run the cases that the arguments name: kind, seed, first number, count, folder of the target."""
    kind, seed, first, count, folder = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = sys.stdout
    for number in range(int(first), int(first) + int(count)):
        about, check = CHECKS[kind](int(seed), number, Path(folder))
        print(json.dumps({"number": number, "about": about}), file=out, flush=True)
        began = time.perf_counter()
        try:
            verdict, detail = check()
        except Exception as error:  # any other error is the finding
            verdict, detail = "fault", f"{type(error).__name__}: {str(error)[:300]}"
        seconds = round(time.perf_counter() - began, 4)
        line = {"number": number, "verdict": verdict, "detail": detail, "seconds": seconds}
        print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    run_cases()
