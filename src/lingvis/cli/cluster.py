"""The option --ray."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lingvis.errors import UserError

if TYPE_CHECKING:
    from lingvis.ray.cluster import Cluster


@contextlib.contextmanager
def connected(ray: Sequence[str] | None) -> Iterator[Cluster | None]:
    """Yield the cluster of the option --ray: None without it; without an address, a cluster on this machine."""
    from lingvis.ray.cluster import Cluster

    if ray is None:
        yield None
    else:
        if len(ray) > 1:
            raise UserError("--ray was given twice; work runs on one cluster, so name one address")
        with Cluster(ray[0] if ray else None) as cluster:
            yield cluster
