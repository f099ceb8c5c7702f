"""A collection in a folder, on LanceDB."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lingvis.arrays import Floats
from lingvis.collection.stores.exact import EXACT_VALUES, ExactIndex, Reloading
from lingvis.collection.stores.folder.albums import FolderAlbums
from lingvis.collection.stores.folder.header import (
    check_engine,
    check_model,
    create_folder,
    read_header,
    read_stamp,
    write_header,
)
from lingvis.collection.stores.folder.lock import one_writer
from lingvis.collection.stores.folder.trouble import reported
from lingvis.collection.stores.lance.browsing import LATER_ORDER_COLUMNS, ORDER_COLUMNS, DateOrder
from lingvis.collection.stores.lance.durable import FolderSync
from lingvis.collection.stores.lance.filters import quote, to_mask, to_sql
from lingvis.collection.stores.lance.fragments import FragmentWriter, add_fragments, has_lance
from lingvis.collection.stores.lance.memory import InMemory
from lingvis.collection.stores.lance.rows import (
    complete,
    info_columns,
    missing_columns,
    to_files,
    to_infos,
    to_items,
    to_matrix,
    to_table,
)
from lingvis.collection.stores.lance.table import create_table, open_table
from lingvis.collection.stores.lance.trouble import lance_errors
from lingvis.collection.stores.lance.versions import flushed, go_back, record
from lingvis.collection.stores.records import (
    CAPTION,
    CAPTION_EMBEDDING,
    EMBEDDING,
    FILE_COLUMNS,
    Filter,
    FolderCount,
    Header,
    Hit,
    Item,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
    StoredFile,
    ranked,
)

# Rows per partition, and the number of partitions that a query searches: a minimum, and a share of all. Recall@10 of
# clustered vectors of 1024 values: 100,000 (50 partitions) with 20 of them 0.98, with 30 0.99, with 40 1.00, at nearly
# the same speed; 1,000,000 (500 partitions) with 130 of them 0.97, with 230 0.99. Smaller partitions found no more and
# took longer to train.
PARTITION, PROBED_LEAST, PROBED = 2000, 30, 0.4
SAMPLED, ITERATIONS = 64, 20  # rows per partition to learn the partitions from, and passes over them
# Minimum numbers of results to request from the index, so that the pages of a query are consistent.
PLACES = (250, 1000, 4000)
# Candidates by quantised vectors per result, compared again by the stored vectors: one bit per value is less
# precise for a short vector, so short vectors need more.
REFINED, REFINED_VALUES = 2, 1024
# Rows from which an index on ids pays off: finding one row takes 7 ms among 100,000 instead of 12 to 21.
LOOKED_UP = 10_000
UNINDEXED = 4096  # rows that may be missing from an index; each query compares them one by one
ID_SHARE = 16  # and this part of all rows from the index on ids, which is made again then
# Merging small files rewrites all of them: it waits until they have grown by a quarter, so that it stays cheap overall.
FEW_FILES, ROWS_A_FILE = 64, 256
OLD = timedelta(minutes=10)  # replaced files stay for this time, for readers that still use them
FOREVER = timedelta(days=36500)
TRIES = 5


class LanceStore:
    """A folder with collection.json and the table that it names; a rebuild starts a new table.

    exact_values: rows x dim up to which search compares every row in memory.
    """

    def __init__(self, folder: Path, *, exact_values: int = EXACT_VALUES) -> None:
        self.folder, self._exact_values = folder, exact_values
        self.albums = FolderAlbums(folder)
        self._writing = False
        self._opening = threading.RLock()
        self._open()

    @classmethod
    def create(
        cls, folder: Path, header: Header, *, replace: bool = True, exact_values: int = EXACT_VALUES
    ) -> LanceStore:
        """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged."""
        with lance_errors(folder):
            create_folder(
                folder,
                header,
                "lance",
                lambda table: create_table(folder, table, header.dim),
                replace=replace,
            )
        return cls(folder, exact_values=exact_values)

    def errors(self) -> AbstractContextManager[None]:
        """Report errors of the engine as sentences."""
        return lance_errors(self.folder)

    def _open(self) -> None:
        stored = read_header(self.folder)
        check_engine(self.folder, stored.engine, "lance")
        self.header, self._name, self._stamp = stored.header, stored.table, stored.stamp
        self._table: Any = open_table(self.folder, self._name)
        self._files = FolderSync(self.folder / f"{self._name}.lance")
        self._exact: Reloading[InMemory] = Reloading()
        self._order: tuple[int, DateOrder] | None = None

    @reported
    def replace_header(self, header: Header) -> None:
        """Store another header; the rows stay."""
        write_header(self.folder, header, "lance", read_header(self.folder).table)
        self._open()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Context for all writes."""
        with one_writer(self.folder):
            with self.errors():
                self._refresh()
                self._table.checkout_latest()
                go_back(self._table, self.folder, self._name)
                if missing := list(missing_columns(self._table.schema.names)):
                    self._table.add_columns(pa.schema(missing))
            self._writing = True
            try:
                with self.errors():
                    self._sync()
                yield
            finally:
                self._writing = False

    def files(self) -> Iterator[StoredFile]:
        """Yield every row."""
        with self.errors():
            self._refresh()
            for batch in self._rows(FILE_COLUMNS).to_batches():
                yield from to_files(batch)

    @reported
    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows or replace rows with the same id."""
        if items:
            merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            # By default LanceDB rejects a missing vector.
            merge.execute(to_table(items, self.header.dim), on_bad_vectors="null")
            self._sync()

    @reported
    def version(self) -> int:
        """Return the version of the table."""
        self._refresh()
        return int(self._table.version)

    def row_writer(self) -> FragmentWriter | None:
        """Return the writer for other processes; None without pylance."""
        return (
            FragmentWriter(str(self.folder.resolve()), self._name, self.header.dim) if has_lance() else None
        )

    @reported
    def append(self, names: Sequence[str], *, rows: int) -> None:
        """Add files of rows that other processes have written."""
        version = int(self._table.version)
        add_fragments(self.folder / f"{self._name}.lance", names, rows=rows, version=version)
        self._table.checkout_latest()
        self._sync()

    @reported
    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows."""
        if ids:
            self._table.delete(_among(ids))
            self._sync()

    @reported
    def items(self, ids: Sequence[str]) -> list[Item]:
        """Return whole rows."""
        self._refresh()
        return to_items(self._rows(None, _among(ids)).to_arrow()) if ids else []

    @reported
    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Return embeddings by id."""
        self._refresh()
        if not ids:
            return {}
        column = CAPTION_EMBEDDING if captions else EMBEDDING
        rows = self._rows(["id", column], f"{_among(ids)} AND {column} IS NOT NULL").to_arrow()
        matrix = to_matrix(rows[column], self.header.dim).astype(np.float32)
        return dict(zip(rows["id"].to_pylist(), matrix, strict=True))

    @reported
    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture."""
        self._refresh()
        return next(iter(self._infos([id])), None)

    @reported
    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of pictures."""
        self._refresh()
        return self._infos(ids)

    @reported
    def having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the pictures with these contents."""
        self._refresh()
        return self._infos(hashes, "hash")

    @reported
    def thumbnail(self, id: str) -> bytes | None:
        """Return the thumbnail of one picture."""
        self._refresh()
        column: list[bytes] = self._rows(["thumbnail"], _among([id])).to_arrow()["thumbnail"].to_pylist()
        return next(iter(column), None)

    @reported
    def browse(self, *, k: int, offset: int = 0, where: Filter) -> list[PictureInfo]:
        """Return the newest rows."""
        ids = self._by_date().ids(k, offset, where)
        infos = {info.id: info for info in self._infos(ids)}
        return [infos[id] for id in ids if id in infos]  # another process may have dropped some since

    @reported
    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        return self._by_date().timeline(where)

    @reported
    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        return self._by_date().folders(where)

    @reported
    def places(self, where: Filter, *, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        return self._by_date().places(where, step)

    @reported
    def count(self, *, once: bool = False) -> int:
        """Return the number of rows."""
        where = Filter(once=once)
        self._refresh()
        return int(self._table.count_rows(to_sql(where) if "second" in self._table.schema.names else None))

    @reported
    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        self._refresh()
        names = [name for name in self._table.schema.names if name == "second"]
        every = complete(self._rows(["size", "format", "date", CAPTION, *names]).to_arrow())
        rows = every.filter(to_mask(Filter(once=True), every))
        counts = {count["values"]: count["counts"] for count in pc.value_counts(rows["format"]).to_pylist()}
        ends = pc.min_max(rows["date"]).as_py()
        return Statistics(
            pictures=rows.num_rows,
            captions=rows.num_rows - rows[CAPTION].null_count,
            bytes=pc.sum(rows["size"]).as_py() or 0,
            formats=dict(sorted(counts.items())),
            first=ends["min"],
            last=ends["max"],
            videos=rows.num_rows - rows["second"].null_count,
            moments=every.num_rows - every["second"].null_count,
        )

    @reported
    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Return the best rows per query: exact in memory for few rows, otherwise by the engine's index."""
        column = CAPTION_EMBEDDING if captions else EMBEDDING
        self._refresh()
        rows = self._vector_count(column)
        if rows * self.header.dim <= self._exact_values:
            held = self._exact.get(column, int(self._table.version), partial(self._load, column))
            return held.search(queries, k=k, offset=offset, where=where)
        return [
            self._by_engine(query, column, rows, k + offset, where)[offset : offset + k] for query in queries
        ]

    @reported
    def maintain(self) -> None:
        """Merge small files and update the search indexes when it pays off."""
        rows = int(self._table.count_rows())
        if self._table.stats()["fragment_stats"]["num_fragments"] > FEW_FILES + rows // ROWS_A_FILE:
            self._optimize()
        for column in (EMBEDDING, CAPTION_EMBEDDING):
            if (held := self._vector_count(column)) * self.header.dim > self._exact_values:
                self._index(column, held)
        if rows > LOOKED_UP:
            self._index_ids(rows)
        self._sync()

    def _index(self, column: str, rows: int) -> None:
        """Build or update an index; its name ends in its number of partitions, and it is rebuilt once that doubles."""
        from lancedb.index import IvfRq

        partitions = max(1, rows // PARTITION)
        old = {
            int(index.name.rpartition("_")[2]): index.name
            for index in self._table.list_indices()
            if index.columns == [column]
        }
        used = max(old, default=0)
        if partitions >= 2 * used:
            config = IvfRq(
                distance_type="dot", num_partitions=partitions, sample_rate=SAMPLED, max_iterations=ITERATIONS
            )
            self._table.create_index(column, config=config, name=f"{column}_{partitions}")
            used = partitions
        elif self._table.index_stats(old[used]).num_unindexed_rows > UNINDEXED:
            self._optimize()
        for name in [name for number, name in old.items() if number != used]:
            self._table.drop_index(name)

    def _index_ids(self, rows: int) -> None:
        """Build or rebuild the index on ids, which reads ids alone: an update would merge all files, with thumbnails."""
        from lancedb.index import BTree

        held = [index.name for index in self._table.list_indices() if index.columns == ["id"]]
        if not held:
            self._table.create_index("id", config=BTree(), name="id")
        elif self._table.index_stats(held[0]).num_unindexed_rows > max(UNINDEXED, rows // ID_SHARE):
            self._table.create_index("id", config=BTree(), name="id", replace=True)

    def _optimize(self) -> None:
        self._tidy(FOREVER)
        self._sync()  # new files must be on the disk before old ones are deleted
        self._tidy(OLD)

    def _tidy(self, age: timedelta) -> None:
        for left in reversed(range(TRIES)):
            try:
                return self._table.optimize(cleanup_older_than=age)  # type: ignore[no-any-return]
            except (RuntimeError, OSError) as error:
                if "conflict" not in str(error).lower() or not left:
                    raise
                self._table.checkout_latest()
        return None

    def _load(self, column: str) -> tuple[int, InMemory]:
        """Return the version of the table, and the rows that have a vector."""
        with self._opening:
            columns = [*info_columns(self._table.schema.names), column]
            table = self._rows(columns, f"{column} IS NOT NULL").to_arrow()
            version = int(self._table.version)
        vectors = np.require(to_matrix(table[column], self.header.dim), requirements="W")
        # In one piece: taking rows from many pieces would copy whole columns for each search.
        records = complete(table.drop([column])).combine_chunks()
        return version, InMemory(ExactIndex(vectors, np.arange(len(vectors))), records)

    def _by_date(self) -> DateOrder:
        """Return the order of the current rows; it is kept until rows change."""
        self._refresh()
        with self._opening:
            version, names = int(self._table.version), self._table.schema.names
            if self._order is None or self._order[0] != version:
                columns = [*ORDER_COLUMNS, *(name for name in LATER_ORDER_COLUMNS if name in names)]
                self._order = version, DateOrder(self._rows(columns).to_arrow())
            return self._order[1]

    def _infos(self, values: Sequence[str], key: str = "id") -> list[PictureInfo]:
        columns = info_columns(self._table.schema.names)
        return to_infos(self._rows(columns, _among(values, key)).to_arrow()) if values else []

    def _by_engine(self, query: Floats, column: str, rows: int, count: int, where: Filter) -> list[Hit]:
        """Return the best rows by the index; the first 250 are the same for every page."""
        names = self._table.schema.names
        if where.area is not None and "latitude" not in names:
            return []  # nothing in this table has a position
        places = next((size for size in PLACES if size >= count), count)
        probes = PROBED_LEAST + int(rows // PARTITION * PROBED)
        search = self._table.search(query, vector_column_name=column).distance_type("dot").nprobes(probes)
        if (sql := to_sql(where)) is not None:
            # All partitions, if needed: the nearest may hold no row that passes.
            search = search.where(sql, prefilter=True).minimum_nprobes(probes).maximum_nprobes(0)
        search = search.refine_factor(max(REFINED, REFINED_VALUES // self.header.dim))
        best: pa.Table = search.select([*info_columns(names), "_distance"]).limit(places).to_arrow()
        return ranked([1 - distance for distance in best["_distance"].to_pylist()], to_infos(best))

    def _rows(self, columns: list[str] | None, sql: str | None = None) -> Any:
        """Return a plain query; columns: None for all."""
        query = self._table.search() if columns is None else self._table.search().select(columns)
        return query.limit(None) if sql is None else query.where(sql).limit(None)

    def _refresh(self) -> None:
        """Load changes by other processes; after a rebuild, another table and maybe another model."""
        with self._opening:  # threads share a store
            self._refresh_header()
            if self._writing:
                return
            version = flushed(self.folder, self._name)
            if version is None:
                self._table.checkout_latest()
            elif version != self._table.version:
                self._table.checkout(version)

    def _refresh_header(self) -> None:
        if read_stamp(self.folder) != self._stamp:
            before = self.header
            self._open()
            check_model(self.folder, before, self.header)

    def _vector_count(self, column: str) -> int:
        """Return the number of rows that have a vector in the column."""
        return int(self._table.count_rows(f"{CAPTION} IS NOT NULL" if column == CAPTION_EMBEDDING else None))

    def _sync(self) -> None:
        """Flush new files; from now on readers see them."""
        self._files()
        record(self.folder, self._name, int(self._table.version))


def _among(values: Sequence[str], column: str = "id") -> str:
    return f"{column} IN ({', '.join(map(quote, values))})"
