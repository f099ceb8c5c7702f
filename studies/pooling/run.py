"""The pooling study: which coefficient generator learns known pooling patterns and extends them to other set sizes.

python -m studies pooling

The synthetic experiment of VSE-infinity's supplement, section 2.3 and Table 6. A stopped study resumes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

import torch
from torch import Tensor, nn

from lingvis.cli.output import print_json
from lingvis.device import choose_device
from lingvis.files import write_text
from lingvis.pooling.coefficients import Coefficients
from lingvis.pooling.gpo import weigh
from lingvis.pooling.sorting import sort_features
from lingvis.progress import ProgressBar
from lingvis.types import Tokens
from studies.arguments import add_device, add_out, make_parser
from studies.pooling.patterns import GROUPS, LARGEST, PATTERNS, SHOWN, true_table
from studies.pooling.report import draw_study, pooling_table, to_csv
from studies.records import RUNS, Record, append, origin, read

# (position code, decoder): its label in the paper's table. The last is not in that table.
DESIGNS = {
    ("index", "interpolate"): "Index + Interp.",
    ("sincos", "mlp"): "Cos/Sin + MLP",
    ("index", "bigru"): "Index + BiGRU",
    ("sincos", "bigru"): "Cos/Sin + BiGRU",
    ("sincos", "transformer"): "Cos/Sin + Transformer",
}
SETS, DIM = 16, 128  # random sets per step, and features of each
RATE = 0.01
UNFINISHED = "unfinished.jsonl"  # finished cells of a study that is not finished


@dataclass(frozen=True)
class PoolingCell:
    """One generator trained on one pattern from one seed."""

    position: str
    decoder: str
    pattern: str
    seed: int

    @property
    def key(self) -> str:
        """The name of its record."""
        return f"{self.position}/{self.decoder}/{self.pattern}/{self.seed}"


def run_pooling_study(
    out: Path, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400, device: str | None = None
) -> dict[str, Any]:
    """Train every cell, append the record, write pooling.csv and pooling.png into folder `out`; return the record.

    Finished cells are kept in `out` until the end, so that an interrupted study resumes.
    """
    begin = time.perf_counter()
    chosen_device = choose_device(device)
    protocol = _protocol(steps)
    unfinished = out / UNFINISHED
    finished = {record["name"]: record for record in read(unfinished) if record["protocol"] == protocol}
    cells = [
        PoolingCell(*design, pattern, seed) for design, pattern, seed in product(DESIGNS, PATTERNS, seeds)
    ]
    missing = [cell for cell in cells if cell.key not in finished]
    with ProgressBar("pooling study", len(cells), done=len(cells) - len(missing)) as bar:
        # The generators are small: one core per generator is faster than all cores for one.
        workers = torch.get_num_threads() if chosen_device.type == "cpu" else 1
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            stop = Event()
            jobs = {
                pool.submit(train_cell, cell, _generator(cell, chosen_device), steps, stop): cell
                for cell in missing
            }
            try:
                for job in as_completed(jobs):
                    key = jobs[job].key
                    finished[key] = {"name": key, "protocol": protocol, **job.result()}
                    append(unfinished, finished[key])
                    bar.advance(1, key)
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    result = _collect(finished, seeds, protocol)
    result["device"], result["seconds"] = chosen_device.type, round(time.perf_counter() - begin, 1)
    result["cells_from_an_earlier_run"] = len(cells) - len(missing)
    append(out / RUNS, result)
    write_text(out / "pooling.csv", to_csv(result))
    draw_study(result, out / "pooling.png")
    unfinished.unlink(missing_ok=True)
    return result


def coefficient_rmse(predicted: Tensor, true: Tensor, smallest: int, largest: int) -> float:
    """Root mean square error over all coefficients of the sets of `smallest` to `largest` values.

    Both tables are [sizes, ranks] with the weights of size n in row n - 1 and zeros past rank n.
    """
    rows = slice(smallest - 1, largest)
    count = sum(range(smallest, largest + 1))
    return float(((predicted[rows] - true[rows]).square().sum() / count).sqrt())


def train_cell(cell: PoolingCell, generator: Coefficients, steps: int, stop: Event) -> dict[str, Any]:
    """Fit the generator to pooled outputs of random sets; measure its coefficients on all sizes.

    Stops soon after `stop` is set, so that an interrupted study ends at once.
    """
    begin = time.perf_counter()
    device = next(generator.parameters()).device
    true = true_table(cell.pattern).to(device)
    smallest, largest = GROUPS["seen"]
    random = torch.Generator().manual_seed(cell.seed)
    optimiser = torch.optim.Adam(generator.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.05)
    for _ in range(steps):
        if stop.is_set():
            raise CancelledError
        sizes = torch.randint(smallest, largest + 1, (SETS,), generator=random)
        values = torch.randn(SETS, largest, DIM, generator=random)
        mask = torch.arange(largest) < sizes.unsqueeze(1)
        ordered = sort_features(Tokens(values.to(device), mask.to(device)))
        sizes = sizes.to(device)
        target = weigh(ordered, true[sizes - 1, :largest].unsqueeze(1))
        loss = (weigh(ordered, generator(sizes, largest)) - target).square().mean()
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        table = generator(torch.arange(1, LARGEST + 1, device=device), LARGEST)[:, 0]
    return {
        **{group: coefficient_rmse(table, true, *sizes) for group, sizes in GROUPS.items()},
        "shown": [round(weight, 5) for weight in table[SHOWN - 1, :SHOWN].tolist()],
        "seconds": round(time.perf_counter() - begin, 2),
    }


def _generator(cell: PoolingCell, device: torch.device) -> Coefficients:
    """A fresh generator whose first weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cell.seed)
        return Coefficients(position=cell.position, decoder=cell.decoder, max_size=LARGEST).to(device)


def _protocol(steps: int) -> dict[str, Any]:
    return {
        "source": "VSE-infinity supplement, section 2.3, Table 6",
        "metric": "RMSE over all coefficients of all sizes of a group, pooled",
        "sizes": {group: list(sizes) for group, sizes in GROUPS.items()},
        "steps": steps,
        "sets_per_step": SETS,
        "features_of_a_set": DIM,
        "features": "independent standard normal",
        "loss": "mean square error of the pooled features",
        "optimiser": f"Adam, one-cycle schedule up to {RATE}, gradient clip 1.0",
    }


def _collect(cells: dict[str, Record], seeds: Sequence[int], protocol: dict[str, Any]) -> dict[str, Any]:
    """Means over seeds for each design and pattern, means over patterns for each design, and the lowest."""
    rows = []
    for (design, label), pattern in product(DESIGNS.items(), PATTERNS):
        row: dict[str, Any] = {"design": label, "pattern": pattern}
        for group in GROUPS:
            values = [cells[PoolingCell(*design, pattern, seed).key][group] for seed in seeds]
            row[group] = {"mean": statistics.fmean(values), "seeds": values}
        rows.append(row)
    designs = {}
    for label in DESIGNS.values():
        of_design = [row for row in rows if row["design"] == label]
        means = {group: statistics.fmean(row[group]["mean"] for row in of_design) for group in GROUPS}
        designs[label] = means | {"all": statistics.fmean(means.values())}
    weights = {
        label: {pattern: cells[PoolingCell(*design, pattern, seeds[0]).key]["shown"] for pattern in PATTERNS}
        for design, label in DESIGNS.items()
    }
    return {
        "name": "pooling",
        "study": "pooling",
        "seeds": list(seeds),
        "steps": protocol["steps"],
        "protocol": protocol,
        **origin(),
        "designs": designs,
        "best": {key: min(designs, key=lambda label: designs[label][key]) for key in (*GROUPS, "all")},
        "rows": rows,
        "shown": {"size": SHOWN, "seed": seeds[0], "weights": weights},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, print."""
    parser = make_parser("pooling", __doc__)
    add_out(parser, "results/pooling")
    add_device(parser)
    parser.add_argument("--json", action="store_true", help="print the record instead of a table")
    args = parser.parse_args(arguments)
    record = run_pooling_study(args.out, device=args.device)
    if args.json:
        print_json(record)
    else:
        print(pooling_table(record))


if __name__ == "__main__":
    main()
