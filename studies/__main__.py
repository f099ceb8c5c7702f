"""`python -m studies NAME`: reproduce a measurement; without a name, list all studies."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from lingvis.errors import UserError, choices
from studies.catalogue import STUDIES, listing


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study that the first argument names; a user's error ends with one sentence and exit code 2."""
    name, *rest = sys.argv[1:] if arguments is None else arguments or [""]
    if name in ("", "-h", "--help"):
        print(listing())
        return
    try:
        if name not in STUDIES:
            raise UserError(f"there is no study {name!r}; choose one of: {choices(STUDIES)}")
        importlib.import_module(STUDIES[name].module).main(rest)
    except UserError as error:
        print(f"studies: {error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, _interrupted()):
        print("studies: stopped; the same command resumes", file=sys.stderr)
        sys.exit(130)


def _interrupted() -> type[Exception]:
    """The error of a training run that Ctrl-C stopped; imported late, since it needs torch."""
    from lingvis.training.loop.record import TrainingInterrupt

    return TrainingInterrupt


if __name__ == "__main__":
    main(sys.argv[1:])
