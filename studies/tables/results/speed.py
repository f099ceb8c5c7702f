"""Tables of speed: a training step, ranking, extraction, sorting, the first use."""

from __future__ import annotations

import statistics

from studies.records import Record
from studies.tables.markdown import table
from studies.tables.results.records import Results

FLICKR = "flickr8k-ml"


def speed(results: Results) -> str:
    """Milliseconds per training step of vse_infinity_region at batch 128."""
    runs = results.seeds(f"{FLICKR}/earlier", "vse_infinity_region")  # later ones shared the GPU
    whole = [run["training"]["seconds"] / run["training"]["steps"] * 1000 for run in runs]
    rows = [["reference implementation, one H200 (given)", "41", "1.0"]]
    for label, ms in (
        ("lingvis, H200, whole run with validation, mean of 3", statistics.mean(whole)),
        (
            "lingvis, H200, steps alone, each a CUDA graph",
            results.get(FLICKR, "step-h200")["ms_per_step"],
        ),
        (
            "lingvis, H200, steps alone, without CUDA graphs",
            results.get(FLICKR, "step-h200-eager")["ms_per_step"],
        ),
        ("lingvis, 2 CPU cores", results.get(FLICKR, "step-cpu")["ms_per_step"]),
        (
            "lingvis, 2 CPU cores, training.precision=bfloat16",
            results.get(FLICKR, "step-cpu-bfloat16")["ms_per_step"],
        ),
    ):
        rows.append(
            [
                label,
                f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}",
                f"{41 / ms:.1f}" if ms < 100 else f"{41 / ms:.3f}",
            ]
        )
    frozen = results.get(FLICKR, "step-h200-lingvis_frozen")
    other = f"A step of `lingvis_frozen`, {frozen['batch_size']} pictures, on an H200: {frozen['ms_per_step']:.0f} ms."
    return f"{table(['where', 'ms per step', 'speed-up'], rows)}\n\n{other}"


def cpu_step(results: Results) -> str:
    """The most expensive operations of a step on the CPU."""
    record = results.get(FLICKR, "step-cpu")
    phases = ", ".join(f"{name} {ms:,.0f} ms" for name, ms in record["phases_ms"].items())
    rows = [
        [
            f"`{row['operation']}`",
            f"{row['ms_per_step']:,.0f}",
            f"{100 * row['share']:.0f} %",
            f"{row['calls']:.0f}",
        ]
        for row in record["operations"][:8]
    ]
    machine = f"{record['hardware']['cpu']}, {record['hardware']['cores']} cores"
    head = f"{machine}: {record['seconds_per_epoch']:,.0f} s per epoch; {phases}."
    return head + "\n\n" + table(["operation", "ms per step", "share", "calls"], rows)


def ranks(results: Results) -> str:
    """Seconds and memory of exact ranking."""
    record = results.get("ranks", "ranks")
    counting = record["counting"]
    rows = [
        ["counting (lingvis)", f"{counting['seconds']:.2f}", f"{counting['peak_mb_above_inputs']:.0f}"],
        ["argsort for every query", f"{record['loop']['seconds']['all_queries']:.1f}", ""],
    ]
    machine = f"{record['hardware']['cores']} cores ({record['hardware']['cpu']})"
    size = f"{record['images']:,} x {record['texts']:,} x {record['dim']}, {machine}"
    return f"{size}: {record['times_faster']:.1f} times faster.\n\n" + table(
        ["method", "seconds", "MB above the inputs"], rows
    )


def extraction(results: Results) -> str:
    """Speed of feature extraction."""
    ways = ("decode", "bare", "kept", "both", "disk", "extract")
    rows = [
        [
            "flickr8k-ml, 224x224"
            if record["picture_size"] == "given files"
            else f"made-up, {record['picture_size']}",
            record["hardware"]["gpu"] or f"{record['hardware']['cores']} cores",
            *(f"{statistics.median(record[f'{way}_per_second']):,.0f}" for way in ways),
            *(f"{100 * record[key]:.0f} %" for key in ("ratio", "ratio_to_kept")),
        ]
        for record in results.where("extraction")
    ]
    names = [
        "decoding",
        "backbone",
        "backbone, memory kept",
        "both",
        "writing to the disk",
        "extraction",
        "of the backbone",
        "of that with memory kept",
    ]
    return table(["pictures", "device", *names], rows)


def sort(results: Results) -> str:
    """The packed sort against torch's."""
    record = results.get("pooling", "sort")
    rows = [
        [
            _passes(row),
            f"{row['ms']['torch.sort']:.0f} ms",
            f"{row['ms']['packed']:.0f} ms",
            f"{row['ratio']:.1f}",
        ]
        for row in record["rows"]
    ]
    head = f"Median of {record['rounds']} rounds in turn, {record['hardware']['cores']} cores ({record['hardware']['cpu']}):"
    return f"{head}\n\n" + table(["", "`torch.sort`", "packed sort", "ratio"], rows)


def sort_gpu(results: Results) -> str:
    """Generalized pooling in one kernel against torch's operations."""
    record = results.find("pooling", "sort-cuda")
    if record is None:
        return "Not measured."
    rows = [
        [
            " x ".join(f"{size:,}" for size in row["shape"]),
            _passes(row),
            f"{row['ms']['torch']:.2f} ms",
            f"{row['ms']['one kernel']:.2f} ms",
            f"{row['ratio']:.1f}",
        ]
        for row in record["rows"]
    ]
    head = f"Median of {record['rounds']} rounds in turn, {record['rows'][0]['type']}, {record['hardware']['gpu']}:"
    return f"{head}\n\n" + table(["sets", "", "torch", "one kernel", "ratio"], rows, left=2)


def _passes(row: Record) -> str:
    return "forward and backward" if row["backward"] else "forward"


def out_of_the_box(results: Results) -> str:
    """Two commands on a fresh machine."""
    record = results.get("out-of-the-box", "photos")
    rows = [
        ["install of `lingvis[photos]`", record.get("install_seconds"), "s"],
        ["on disk after the install", record.get("install_megabytes"), "MB"],
        [
            f"`lingvis serve` to its first answer, {record['pictures']} photographs indexed",
            record["first_answer_seconds"],
            "s",
        ],
        ["`lingvis serve` again, to its first answer", record["second_start_seconds"], "s"],
        ["`lingvis search` once", record["search_seconds"], "s"],
        ["memory of the server", record["server_megabytes"], "MB"],
        ["memory of the largest process, while indexing", record["largest_process_megabytes"], "MB"],
        ["the collection on disk", record["collection_megabytes"], "MB"],
    ]
    lines = [[label, f"{value:,.1f} {unit}"] for label, value, unit in rows if value is not None]
    answered = sum(bool(answer["hits"]) for answer in record["answers"].values())
    machine = f"{record['hardware']['cpu']}, {record['hardware']['cores']} cores"
    head = f"{machine}; network: {record['network']}; answers in {answered} languages."
    return head + "\n\n" + table(["what", "measured"], lines)
