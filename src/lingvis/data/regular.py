"""Files whose names come from a folder that anybody may have filled."""

from __future__ import annotations

import errno
import os
import stat

NOT_REGULAR = "it is not a regular file"


def read_regular(path: str, limit: int) -> bytes:
    """The first `limit` bytes of a regular file; a pipe would make us wait for ever, and a device never end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe opens at once then
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR, path)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(min(status.st_size, limit))
    finally:
        os.close(handle)
