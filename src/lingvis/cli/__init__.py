"""The last stage, the command line: each command parses, calls one library function and prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lingvis.printing import print_line

if TYPE_CHECKING:
    from cyclopts import App

# torch's messages for full memory, on a CPU and on a GPU.
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "CUDA out of memory")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `lingvis` command and of `python -m lingvis`."""
    from lingvis.cli.app import app
    from lingvis.cli.minus import with_minus_words

    run(app, with_minus_words(app, sys.argv[1:] if arguments is None else arguments))


def run(app: App, arguments: Sequence[str] | None) -> None:
    """Run a command of `app`: bad input ends with one sentence and exit code 2."""
    from cyclopts import CycloptsError

    from lingvis.cli.flags import with_flags
    from lingvis.errors import UserError
    from lingvis.extras import report_missing

    try:
        with report_missing():
            app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UserError as error:
        _fail(*(with_flags(line, app, arguments) for line in error.lines))
    except CycloptsError as error:
        _fail(f"{' '.join(str(error).split())} Try: {app.name[0]} --help")
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output closed it: nothing to report
        sys.exit(1)
    except OSError as error:
        file = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror or error}{file}; check the path and the disk, then run the command again")
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in OUT_OF_MEMORY):
            raise
        _fail("out of memory; use smaller batches, fewer dimensions or a smaller model")
    except KeyboardInterrupt:
        print_line("lingvis: stopped; run the same command again to continue where possible", stderr=True)
        sys.exit(130)


def _fail(sentence: str, *problems: str) -> None:
    for line in (f"lingvis: {sentence}", *problems):
        print_line(line, stderr=True)
    sys.exit(2)
