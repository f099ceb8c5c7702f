"""The tables that all collections of a database share, and their versions."""

from __future__ import annotations

import psycopg

from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.errors import UserError

# Never change a released migration; add another one. Version n is the result of the first n migrations.
MIGRATIONS = (
    """
    CREATE SEQUENCE lingvis_table_number;
    CREATE TABLE lingvis_collections (
        name text COLLATE "C" PRIMARY KEY,
        table_number bigint NOT NULL UNIQUE,
        header jsonb NOT NULL,
        created timestamptz NOT NULL DEFAULT now()
    );
    """,
    """
    CREATE TABLE lingvis_albums (
        collection text COLLATE "C" NOT NULL REFERENCES lingvis_collections ON UPDATE CASCADE ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        created timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (collection, name)
    );
    CREATE TABLE lingvis_album_pictures (
        collection text COLLATE "C" NOT NULL,
        album text COLLATE "C" NOT NULL,
        hash text COLLATE "C" NOT NULL,
        place bigint GENERATED ALWAYS AS IDENTITY,
        PRIMARY KEY (collection, album, hash),
        FOREIGN KEY (collection, album) REFERENCES lingvis_albums ON UPDATE CASCADE ON DELETE CASCADE
    );
    """,
)
ALBUMS = 2  # the version with albums
LOCK = 0x6C696E67766973  # a number that no other program uses as a lock
PGVECTOR = (0, 8)  # the first version that continues a search when a filter leaves too few rows


def is_prepared(connection: Connection) -> bool:
    """Return whether the database has ever held a collection."""
    (prepared,) = connection.execute("SELECT to_regclass('lingvis_migrations') IS NOT NULL").fetchone() or (
        False,
    )
    return bool(prepared)


def has_albums(connection: Connection) -> bool:
    """Return whether the database has tables for albums."""
    return _version(connection) >= ALBUMS


def migrate(connection: Connection, address: Address) -> None:
    """Migrate the shared tables in one transaction; several processes may try at once."""
    _check_encoding(connection, address)
    if is_prepared(connection) and _version(connection) == len(MIGRATIONS):
        return _check_pgvector(connection, address)
    if is_prepared(connection) and 0 < _version(connection) < len(MIGRATIONS) and not _owns(connection):
        return _check_pgvector(connection, address)  # its owner migrates it; until then it has no albums
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        _add_pgvector(connection, address)
        if not is_prepared(connection):
            connection.execute(
                "CREATE TABLE lingvis_migrations (version int PRIMARY KEY, applied timestamptz DEFAULT now())"
            )
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise UserError(
                f"the tables of {address.shown} have version {version}, this lingvis supports {len(MIGRATIONS)}; upgrade it"
            )
        for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
            connection.execute(statements)
            connection.execute("INSERT INTO lingvis_migrations VALUES (%s)", [number])
    return _check_pgvector(connection, address)


def _version(connection: Connection) -> int:
    (version,) = connection.execute(
        "SELECT coalesce(max(version), 0) FROM lingvis_migrations"
    ).fetchone() or (0,)
    return int(version)


def _owns(connection: Connection) -> bool:
    """Return whether the role may change the shared tables."""
    (owns,) = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('lingvis_migrations')"
    ).fetchone() or (False,)
    return bool(owns)


def _add_pgvector(connection: Connection, address: Address) -> None:
    try:
        if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
            connection.execute("CREATE EXTENSION vector")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
        raise UserError(
            f"the server of {address.shown} has no pgvector; install it there (Debian: postgresql-NN-pgvector)"
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            f"the role in {address.shown} may not add pgvector to the database; let an administrator run there: "
            "CREATE EXTENSION vector"
        ) from error


def _check_pgvector(connection: Connection, address: Address) -> None:
    extension = connection.execute(
        "SELECT extversion, to_regtype('halfvec') IS NOT NULL FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    version = str(extension[0]) if extension else "none"
    if not extension or tuple(int(part) for part in version.split(".")[:2]) < PGVECTOR:
        raise UserError(
            f"the database of {address.shown} has pgvector {version}, but 0.8 or newer is needed; install it, and let "
            "an administrator run there: ALTER EXTENSION vector UPDATE"
        )
    if not extension[1]:
        raise UserError(
            f"pgvector is in a schema of {address.shown} outside the role's search_path; add this schema to it"
        )


def _check_encoding(connection: Connection, address: Address) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise UserError(
            f"the database of {address.shown} has the encoding {encoding}; make one with: createdb --encoding UTF8 "
            "--template template0 NAME"
        )
