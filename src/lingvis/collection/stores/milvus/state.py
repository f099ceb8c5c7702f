"""The state of a collection on a server: an alias, and the Milvus collection that it names with its properties."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass

from lingvis.collection.stores.milvus.address import Address
from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.milvus.index import make_index
from lingvis.collection.stores.milvus.rows import CAPTIONS, make_schema
from lingvis.collection.stores.records import FORMAT, Header
from lingvis.errors import UserError

# Properties of the Milvus collection.
HEADER, WRITTEN = "lingvis.header", "lingvis.written"
THUMBNAILS, REPLICAS = "lingvis.thumbnails", "lingvis.replicas"


@dataclass(frozen=True, slots=True)
class State:
    """rows: the Milvus collection; written: timestamp of its last change; thumbnails: their folder, None: in the rows;
    replicas: copies of the rows in the memory of different nodes.
    """

    rows: str
    header: Header
    written: int
    thumbnails: str | None
    replicas: int


def alias(address: Address) -> str:
    """Return the name by which the current rows are found; it changes in one step."""
    return f"lingvis_{address.collection}"


def exists(connection: Connection) -> bool:
    """Return whether the collection exists."""
    return connection.describe(alias(connection.address)) is not None


def read_properties(connection: Connection) -> tuple[str, dict[str, str]] | None:
    """Return the Milvus collection of the alias and its properties; None if there is none."""
    address = connection.address
    found = connection.describe(alias(address))
    if found is None:
        return None
    properties = dict(found.get("properties") or {})
    if HEADER not in properties or found["collection_name"] == alias(address):
        raise UserError(
            f"the name {alias(address)} on the server of {address.shown} is taken by something that lingvis has not made; "
            "choose another name"
        )
    return str(found["collection_name"]), properties


def read_state(connection: Connection) -> State:
    """Read header and properties; a rebuild changes the rows, and maybe the model."""
    address = connection.address
    found = read_properties(connection)
    if found is None:
        raise UserError(
            f"no collection at {address.shown}; make one with: lingvis index '{address.shown}' FOLDER --model RUN"
        )
    rows, properties = found
    try:
        values = json.loads(properties[HEADER])
        if isinstance(values, dict) and values.get("format", FORMAT) != FORMAT:
            raise UserError(
                f"{address.shown} has collection format {values['format']!r}, this version reads {FORMAT}; upgrade "
                "lingvis, or index the pictures into a new collection"
            )
        header = Header.model_validate(values)
        written, replicas = int(properties[WRITTEN]), int(properties[REPLICAS])
    except (KeyError, ValueError) as error:
        raise UserError(
            f"the header of {address.shown} is damaged; restore a backup, or encode all pictures again (rebuild)"
        ) from error
    return State(rows, header, written, thumbnails_of(address, properties), replicas)


def thumbnails_of(address: Address, properties: dict[str, str]) -> str | None:
    """Return the folder of thumbnails; None: they are in the rows."""
    return address.thumbnails or properties.get(THUMBNAILS) or None


def create(connection: Connection, header: Header) -> None:
    """Make an empty Milvus collection, let the alias name it, and drop the previous one; by the only writer."""
    address, client, seconds = connection.address, connection.client, connection.seconds
    name = f"{_stem(address)}{secrets.token_hex(4)}"
    properties = {
        HEADER: header.model_dump_json(),
        WRITTEN: str(connection.now()),
        THUMBNAILS: address.thumbnails or "",
        REPLICAS: str(address.replicas),
    }

    def make() -> None:
        client.create_collection(
            name,
            schema=make_schema(header.dim),
            num_shards=address.shards,
            properties=properties,
            timeout=seconds,
        )
        client.create_partition(name, CAPTIONS, timeout=seconds)

    connection.run(make)
    make_index(connection, name)
    try:
        connection.run(lambda: client.load_collection(name, replica_number=address.replicas))
    except UserError as error:
        connection.drop(name)
        if address.replicas == 1:
            raise
        raise UserError(
            f"{address.shown} cannot hold {address.replicas} replicas, each of which needs a query node of its own "
            f"({error}); add nodes, or ask for fewer"
        ) from error
    change = client.alter_alias if exists(connection) else client.create_alias
    connection.run(lambda: change(name, alias(address), timeout=seconds))
    pattern = re.compile(f"{_stem(address)}[0-9a-f]{{8}}")
    for other in connection.run(lambda: client.list_collections(timeout=seconds)):
        if other != name and pattern.fullmatch(other):  # also those of processes that were killed here
            connection.drop(other)


def write_header(connection: Connection, state: State, header: Header) -> None:
    """Store another header."""
    _set(connection, state, HEADER, header.model_dump_json())


def mark_written(connection: Connection, state: State) -> int:
    """Let all readers that begin from now on wait for the changes until now; returns their timestamp."""
    written = connection.now()
    _set(connection, state, WRITTEN, str(written))
    return written


def _stem(address: Address) -> str:
    return f"_lingvis_{address.collection}_rows_"


def _set(connection: Connection, state: State, key: str, value: str) -> None:
    connection.run(
        lambda: connection.client.alter_collection_properties(
            state.rows, {key: value}, timeout=connection.seconds
        )
    )
