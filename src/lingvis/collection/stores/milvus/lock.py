"""One writer at a time: Milvus has no locks, but of two processes that create one name in two ways, one fails."""

from __future__ import annotations

import secrets
import threading
from typing import Any

from pymilvus import DataType, MilvusClient, MilvusException

from lingvis.collection.stores.milvus.connection import Connection, explained
from lingvis.errors import UserError

LEASE = 20.0  # seconds without a sign of life after which a writer counts as dead
RENEWALS = 4  # per lease
RENEWED = "lingvis.renewed"
MILLISECOND_BITS = 18  # a timestamp of Milvus: milliseconds, then a counter of this many bits


class Writer:
    """An empty Milvus collection whose description names its owner, and whose property says when it was last seen.

    Times are those of the server. A process that stood still for longer than the lease finds another owner, or none,
    before its next write, and ends; two can write at once only for the one write that was on its way then.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._token = connection, secrets.token_hex(16)
        self._name = f"_lingvis_{connection.address.collection}_lock"
        self._acquire()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise unless this process is still the writer."""
        if self._owner() != self._token:
            raise UserError(
                f"this process stood still for too long, and lost the right to write to {self._connection.address.shown}; "
                "run the command again"
            )

    def close(self) -> None:
        """Let others write."""
        self._end.set()
        self._thread.join()
        if self._owner() == self._token:
            self._connection.drop(self._name)

    def _acquire(self) -> None:
        while not self._create():
            found = self._connection.describe(self._name)
            if found is None:
                continue  # it has just been released
            renewed = int(dict(found.get("properties") or {}).get(RENEWED, 0))
            left = (
                LEASE - ((self._connection.now() >> MILLISECOND_BITS) - (renewed >> MILLISECOND_BITS)) / 1000
            )
            if left > 0:
                raise UserError(
                    f"another process is writing to {self._connection.address.shown}; try again when it has finished or, "
                    f"if it was killed, in {left:.0f} seconds"
                )
            self._connection.drop(self._name)

    def _create(self) -> bool:
        """Create the collection; returns whether this process has made it."""
        schema: Any = MilvusClient.create_schema(auto_id=False, description=self._token)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("none", DataType.FLOAT_VECTOR, dim=2)
        properties = {RENEWED: str(self._connection.now())}
        try:
            self._connection.client.create_collection(
                self._name,
                schema=schema,
                num_shards=1,
                properties=properties,
                timeout=self._connection.seconds,
            )
        except MilvusException as error:
            if "duplicate collection" in str(error):
                return False
            raise explained(error, self._connection.address) from error
        return self._owner() == self._token

    def _owner(self) -> str | None:
        found = self._connection.describe(self._name)
        return None if found is None else str(found["description"])

    def _renew(self) -> None:
        while not self._end.wait(LEASE / RENEWALS):
            try:
                if self._owner() == self._token:
                    properties = {RENEWED: str(self._connection.now())}
                    self._connection.run(
                        lambda properties=properties: self._connection.client.alter_collection_properties(  # type: ignore[misc]
                            self._name, properties, timeout=self._connection.seconds
                        )
                    )
            except UserError:
                continue  # the next write says what is wrong
