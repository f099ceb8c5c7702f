"""Indexing speed as measured, and an estimate for 100 million pictures."""

from __future__ import annotations

import statistics

from studies.tables.markdown import table
from studies.tables.results.records import Results

PICTURES = 100_000_000
# Assumptions, named in the text of the block.
FILE_BYTES = 500_000  # of a photograph
CORE_HOUR = 0.04  # US dollars for a core with its memory
GB_MONTH = 0.08  # US dollars for a gigabyte of SSD
MANY = 1_000_000  # rows from which on the memory of a server tells something about more of them
SCAN_BYTES = 3  # per value in the memory of an exact search: half precision and a code
MACHINES = (2, 64, 256, 1024)  # cores


def measured_speed(results: Results) -> str:
    """Pictures per second of each way, and the share of the backbone's speed."""
    record = results.get("scale", "indexing")
    labels = {
        "backbone": "backbone alone, pixels in memory",
        "decoded": "backbone with reading and decoding",
        "index": "`lingvis index`",
    }
    rows = []
    for way, rates in record["pictures_per_second"].items():
        workers = way.removeprefix("ray-")
        label = labels.get(
            way, f"`lingvis index --ray`, {workers} worker{'s' * (workers != '1')} of one core"
        )
        share = record["of_backbone"][way]
        rows.append([label, f"{statistics.median(rates):.0f}", f"{share:.2f}"])
    hardware = record["hardware"]
    head = (
        f"{record['pictures']:,} JPEG files of {record['picture_bytes'] / 1000:.0f} KB, {record['backbone']}, "
        f"{hardware['cores']} cores ({hardware['cpu']}), Ray {record['ray']}; median of "
        f"{len(record['pictures_per_second']['index'])} rounds."
    )
    return f"{head}\n\n{table(['way', 'pictures/s', 'of the backbone'], rows)}"


def writing(results: Results) -> str:
    """Rows per second of the one writer, by engine and by the number of workers that feed it."""
    record = results.get("scale", "writing")
    labels = {"batches": "each batch by itself", "joined": "batches joined"}
    rates = {**record["rows_per_second"], "workers alone": record["made_per_second"]}
    used = record.get("processor_seconds_per_1000", {})
    ways = max(record["rows_per_second"].values(), key=len)
    rows = []
    for way in ways:
        kind, _, workers = way.partition("-")
        source = f"{workers} Ray worker{'s' * (workers != '1')}"
        from_workers = f"written by {source}" if kind == "written" else f"batches joined, from {source}"
        cells = [each.get(way, each.get(f"made-{workers}")) for each in rates.values()]
        rows.append(
            [
                labels.get(way, from_workers),
                *("" if cell is None else f"{statistics.median(cell):,.0f}" for cell in cells),
                *(f"{statistics.median(each[way]):.3f}" if way in each else "" for each in used.values()),
            ]
        )
    hardware = record["hardware"]
    head = (
        f"Rows per second: {record['rows']:,} made-up rows with {record['dim']} values and thumbnails of "
        f"{record['thumbnail_bytes'] / 1000:.0f} KB, in batches of {record['batch_size']}, {hardware['cores']} cores "
        f"({hardware['cpu']}); median of {len(ways['joined'])} rounds."
    )
    seconds = [f"{engine}, processor seconds per 1,000 rows" for engine in used]
    if used:
        head += " Processor time is that of the one process that stores."
    return f"{head}\n\n{table(['way', *rates, *seconds], rows)}"


def writer_values(results: Results) -> dict[str, int]:
    """Rows per second of the one writer, and the bytes of planning per picture."""
    record = results.get("scale", "writing")
    return {name: record[name] for name in ("writer_rows_per_second", "planner_bytes")}


def hundred_million(results: Results) -> str:
    """Storage, memory, hours and cost, from the measured record and the assumptions above."""
    record = results.get("scale", "indexing") | writer_values(results)
    ways = [way for way in record["pictures_per_second"] if way.startswith("ray-")]
    most = max(ways, key=lambda way: int(way.removeprefix("ray-")))
    rate = statistics.median(record["pictures_per_second"][most]) / int(most.removeprefix("ray-"))
    row, dim = record["stored_bytes"], record["dim"]
    core_hours = PICTURES / rate / 3600
    writer = record["writer_rows_per_second"]
    gigabytes = {
        "pictures themselves": FILE_BYTES,
        "collection: rows with thumbnails": row,
        "of these, embeddings in half precision": 2 * dim,
        "in memory, SQLite: every row compared": SCAN_BYTES * dim,
        "search index in memory, LanceDB (one bit per value)": dim / 8,
        **_measured_memory(results),
        "memory of the indexing process while it plans": record["planner_bytes"],
    }
    sizes = table(
        ["what", "bytes per picture", "GB"],
        [[name, f"{each:,.0f}", f"{each * PICTURES / 1e9:,.0f}"] for name, each in gigabytes.items()],
    )
    hours = []
    for cores in MACHINES:
        speed = min(rate * cores, writer)
        bound = "" if speed == rate * cores else ", bound by the one writer"
        hours.append([f"{cores:,} cores", f"{speed:,.0f}", f"{PICTURES / speed / 3600:,.0f}{bound}"])
    times = table(["machines", "pictures/s", "hours"], hours)
    cost = core_hours * CORE_HOUR
    disk = row * PICTURES / 1e9 * GB_MONTH
    return (
        f"Measured: {rate:.1f} pictures per second and core, {record['stored_bytes']:,} bytes per row of {record['dim']} "
        f"values, {writer:,} rows per second for the one writer, {record['planner_bytes']:,} bytes of planning per picture. "
        f"Computed from these and the study of search; assumed: "
        f"sizes and memory that grow with the rows, files of {FILE_BYTES / 1000:.0f} KB, read and decoded as fast as "
        f"the measured ones of {record['picture_bytes'] / 1000:.0f} KB (larger ones take longer), speed that "
        f"grows with the cores, storage that feeds them ({rate * FILE_BYTES / 1e6:.1f} MB/s per core), thumbnails as "
        f"large as the measured ones, one bit per value in LanceDB's index, "
        f"{CORE_HOUR} US dollars per core hour and {GB_MONTH} per gigabyte and month.\n\n{sizes}\n\n{times}\n\n"
        f"Together {core_hours:,.0f} core hours, about {cost:,.0f} US dollars, once; keeping the collection costs about "
        f"{disk:,.0f} US dollars per month."
    )


def _measured_memory(results: Results) -> dict[str, float]:
    """Bytes per picture of the indexes of servers, from the largest collections that were measured."""
    found: dict[str, float] = {}
    graphs = [
        each for each in results.where("search", benchmark="pgvector") if each["index"].startswith("hnsw")
    ]
    if graphs:
        graph = max(graphs, key=lambda each: int(each["vectors"]))
        label = f"search index in memory, PostgreSQL (halfvec HNSW, {graph['vectors']:,} measured)"
        found[label] = 1e6 * graph["index_mb"] / graph["vectors"]
    servers = [
        each
        for each in results.where("search", benchmark="search", engine="milvus")
        if "memory_mb" in each and each["vectors"] >= MANY
    ]
    if servers:
        server = max(servers, key=lambda each: int(each["vectors"]))
        found[f"memory of Milvus (HNSW, {server['vectors']:,} measured)"] = (
            1e6 * server["memory_mb"] / server["vectors"]
        )
    return found
