"""The connection to a Milvus server: clear errors when it cannot be used, retries while a collection is loaded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
from pymilvus import MilvusClient, MilvusException
from pymilvus.client import entity_helper

from lingvis.collection.stores.milvus.address import Address
from lingvis.errors import UserError

NOT_FOUND = 100  # a code of Milvus
LOADING = (
    "not loaded",
    "not fully loaded",
    "not found",
    "channel not available",
    "no available",
    "unrecovered",
)
LIMITED = ("memory quota", "disk quota", "quota exhausted", "force deny")
LINKS = 5  # of a chain of errors; pymilvus makes circles of them
Result = TypeVar("Result")

# pymilvus walks over the characters of each text of a row: 500 rows/s with it, 1,900 without; the server checks.
entity_helper.CHECK_STR_ARRAY = False
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # our messages replace its tracebacks


class Connection:
    """A client of one server, shared by threads; every call ends within the timeout of the address."""

    def __init__(self, address: Address) -> None:
        self.address, self.seconds = address, address.timeout
        self.client: Any = self.run(
            lambda: MilvusClient(
                uri=address.uri, token=address.token, db_name=address.database, timeout=address.timeout
            )
        )

        if address.database not in self.run(lambda: self.client.list_databases(timeout=self.seconds)):
            raise UserError(
                f"{address.shown} has no database {address.database!r}; create it, or name another one in the address"
            )

    def run(self, action: Callable[[], Result]) -> Result:
        """Run an action; raises a UserError that explains what the server answers."""
        try:
            return action()
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise explained(error, self.address) from error

    def patiently(self, action: Callable[[], Result]) -> Result:
        """Run an action that only reads; retries while its collection is loaded or replaced."""
        end, pause = time.monotonic() + self.seconds, 0.05
        while True:
            try:
                return action()
            except (MilvusException, grpc.RpcError) as error:
                passes = any(sign in str(error) for sign in LOADING)
                if not passes or time.monotonic() + pause > end:
                    raise explained(error, self.address) from error
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def describe(self, name: str) -> dict[str, Any] | None:
        """Return what the server knows about a collection or an alias; None if there is none."""

        def ask() -> dict[str, Any] | None:
            try:
                found: dict[str, Any] = self.client.describe_collection(name, timeout=self.seconds)
            except MilvusException as error:
                if error.code == NOT_FOUND:
                    return None
                raise
            return found

        return self.run(ask)

    def now(self) -> int:
        """Return a timestamp of the server: later than that of every change it has acknowledged."""
        return self.run(lambda: int(self.client._get_connection().alloc_timestamp(timeout=self.seconds)))

    def drop(self, name: str) -> None:
        """Drop a collection if it exists."""
        self.run(lambda: self.client.drop_collection(name, timeout=self.seconds))


def explained(error: Exception, address: Address) -> UserError:
    """Return the error of a server as one sentence."""
    status, reason = _status(error)
    if status in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return UserError(
            f"{address.shown} does not accept the user or the password ({reason}); give both in the address: "
            "milvus://USER:PASSWORD@HOST:PORT/NAME"
        )
    if status == grpc.StatusCode.DEADLINE_EXCEEDED or isinstance(error, grpc.FutureTimeoutError):
        return UserError(
            f"the server of {address.shown} does not answer (no answer within {address.timeout:.0f} seconds); check it "
            "and the network, or restart it, and try again"
        )
    if status is not None:
        return UserError(
            f"cannot connect to {address.shown} ({reason}); check the address, and that a Milvus server runs there"
        )
    if any(sign in reason for sign in LIMITED):
        return UserError(
            f"the server of {address.shown} accepts no more rows ({reason}); give it more memory or disk, or drop "
            "collections"
        )
    return UserError(f"the server of {address.shown} cannot do this now: {reason}")


def _status(error: BaseException | None) -> tuple[grpc.StatusCode | None, str]:
    """Return the status of the call that failed, None if the server has answered, and the reason on one line."""
    first = error
    for _ in range(LINKS):
        if isinstance(error, grpc.RpcError):
            details = str(error.details())
            return error.code(), " ".join(details.rpartition("last error:")[2].split())
        code = getattr(error, "code", None)
        if isinstance(code, grpc.StatusCode):
            return code, " ".join(str(getattr(error, "message", error)).split())
        error = getattr(error, "__cause__", None)
    return None, " ".join(str(getattr(first, "message", first)).split())
