"""Stage 13, the command line: thin verbs over library functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `lingvis` command: bad input ends with one sentence and exit code 2."""
    from cyclopts import CycloptsError

    from lingvis.cli.app import app
    from lingvis.errors import UserError

    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UserError as error:
        _fail(str(error))
    except CycloptsError as error:
        _fail(f"{' '.join(str(error).split())} Try: lingvis --help")
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone: nothing to say
        sys.exit(1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _fail(
            f"{error.strerror or error}{where}; nothing half-written is left, mend it and run the command again"
        )
    except KeyboardInterrupt:
        print("lingvis: stopped; run the same command again to go on", file=sys.stderr)
        sys.exit(130)


def _fail(sentence: str) -> None:
    print(f"lingvis: {sentence}", file=sys.stderr)
    sys.exit(2)
