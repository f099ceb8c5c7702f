"""Maps between word spaces: accuracy of both kinds of map, a fixed step against halving, and memory; one record each.

python -m studies alignment accuracy VECTORS DICTIONARIES DATASET
python -m studies alignment fixed-step VECTORS DICTIONARIES --langs ar
python -m studies alignment memory
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.data.dataset import Dataset
from lingvis.text.alignment import accuracy, induce_dictionary, parallel_words, prepare
from lingvis.text.alignment.fit import dictionary_pairs
from lingvis.text.alignment.procrustes import orthogonal
from lingvis.text.alignment.rcsls import RcslsObjective, RcslsOptions, descend, rcsls
from lingvis.text.alignment.run import split_words
from lingvis.text.dictionaries.read import collect, read_dictionary
from lingvis.text.lexicon.iso639 import spellings
from lingvis.text.vectors.store import WordVectors
from lingvis.text.vectors.table import WordTable
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

INTO, WORDS, HELD_OUT, SEEDS, K = "en", 5000, 0.2, (0, 1, 2), 10
FIRST_STEPS, STAGE, STAGES = (1.0, 5.0), 5, 4
Dictionary = Mapping[str, tuple[str, ...]]


def both_directions(folder: Path, lang: str) -> tuple[Dictionary, list[str]]:
    """FreeDict from `lang` into INTO with the reversed other direction, and the names of the files."""
    pairs: list[tuple[str, str]] = []
    files = []
    for one, other in ((lang, INTO), (INTO, lang)):
        names = [f"freedict-{a}-{b}.index" for a in spellings(one) for b in spellings(other)]
        for file in (folder / name for name in names if (folder / name).is_file()):
            files.append(file.name)
            read = [(word, other) for word, others in read_dictionary(file).items() for other in others]
            pairs += read if one == lang else [(other, word) for word, other in read]
    return collect(pairs), files


def first_words(vectors: WordVectors, lang: str) -> WordTable:
    """The most frequent words of a language, prepared."""
    table = vectors.table(lang)
    return WordTable(table.words[:WORDS], prepare(table.values[:WORDS]))


def origins(vectors: WordVectors, langs: list[str]) -> dict[str, Any]:
    """The origins of the vectors of these languages."""
    entries = vectors.manifest.languages
    return {lang: entries[lang].model_dump(mode="json", exclude_none=True) for lang in (*langs, INTO)}


def stages(objective: RcslsObjective, matrix: Tensor, step: float) -> Iterator[NDArray[np.float32]]:
    """The map after every STAGE steps."""
    for _ in range(STAGES):
        matrix, _, lengths = descend(objective, matrix, RcslsOptions(steps=STAGE), first_step=step)
        step = lengths[-1] if lengths else step
        yield matrix.numpy()


def usual(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most frequent translation of each word: rows are in order of frequency."""
    _, first = np.unique(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))][:, 0], return_index=True)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))][first]


def compare(source: WordTable, target: WordTable, pairs: NDArray[np.int64], seed: int) -> dict[str, Any]:
    """Both maps on held-out words; step and number of steps are selected on a fifth of the other words."""
    a, b = source.values, target.values
    learn, ask = split_words(pairs, HELD_OUT, seed)
    fit, choose = split_words(learn, HELD_OUT, seed)

    def start(rows: NDArray[np.int64]) -> tuple[RcslsObjective, Tensor]:
        tensors = [torch.from_numpy(values) for values in (a, b, usual(rows))]
        return RcslsObjective(tensors[0], tensors[1], tensors[2], K), orthogonal(*tensors)

    def measure(matrix: NDArray[np.float32], rows: NDArray[np.int64]) -> dict[str, float]:
        found = accuracy(matrix, a, b, rows, k=K)
        return {"nn": found.nn, "csls": found.csls}

    tried = [
        {"first_step": step, "steps": STAGE * number, **measure(matrix, choose)}
        for step in FIRST_STEPS
        for number, matrix in enumerate(stages(*start(fit), step), start=1)
    ]
    chosen = max(tried, key=lambda row: row["csls"])
    objective, first = start(learn)
    last = list(stages(objective, first, chosen["first_step"]))[int(chosen["steps"]) // STAGE - 1]
    return {
        "seed": seed,
        "fitted_pairs": len(usual(learn)),
        "held_out_words": len(np.unique(ask[:, 0])),
        "chosen": {"first_step": chosen["first_step"], "steps": chosen["steps"]},
        "tried": tried,
        "identity": measure(np.eye(a.shape[1], dtype=np.float32), ask),
        "procrustes": measure(first.numpy(), ask),
        "rcsls": measure(last, ask),
    }


def accuracy_record(args: argparse.Namespace) -> dict[str, Any]:
    vectors, dataset = WordVectors.open(args.vectors), Dataset.open(args.dataset)
    target = first_words(vectors, INTO)
    rows = []
    for lang in args.langs:
        source = first_words(vectors, lang)
        freedict, files = both_directions(args.dictionaries, lang)
        induced = induce_dictionary(parallel_words(dataset, lang, INTO))
        for name, dictionary in (("freedict", freedict), ("induced", induced)):
            pairs = dictionary_pairs(source, target, dictionary)
            runs = [compare(source, target, pairs, seed) for seed in SEEDS]
            mean = {
                way: {key: float(np.mean([run[way][key] for run in runs])) for key in ("nn", "csls")}
                for way in ("identity", "procrustes", "rcsls")
            }
            print(lang, name, mean, flush=True)
            known = [word for word in induced if word in freedict]
            rows.append({"source": lang, "target": INTO, "dictionary": name, "mean": mean, "runs": runs,
                         **({"files": files} if name == "freedict" else
                            {"entries": len(induced), "known_to_freedict": len(known),
                             "same_in_freedict": sum(induced[w][0] in freedict[w] for w in known)})})  # fmt: skip
    return {
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "vectors": origins(vectors, args.langs),
        "words": WORDS,
        "held_out": HELD_OUT,
        "k": K,
        "rows": rows,
    }


def fixed_step_record(args: argparse.Namespace) -> dict[str, Any]:
    """The usual step of 25, fixed, and halved when the objective worsens, on one pair."""
    vectors = WordVectors.open(args.vectors)
    (lang,) = args.langs
    source, target = first_words(vectors, lang), first_words(vectors, INTO)
    dictionary, files = both_directions(args.dictionaries, lang)
    learn, ask = split_words(dictionary_pairs(source, target, dictionary), HELD_OUT, 0)
    tensors = [torch.from_numpy(values) for values in (source.values, target.values, learn)]
    objective, first = RcslsObjective(tensors[0], tensors[1], tensors[2], K), orthogonal(*tensors)
    record: dict[str, Any] = {
        "source": lang, "target": INTO, "files": files, "vectors": origins(vectors, [lang]),
        "words": WORDS, "held_out": HELD_OUT, "k": K, "seed": 0,
    }  # fmt: skip
    begun = accuracy(first.numpy(), source.values, target.values, ask, k=K)
    record["procrustes"] = {"nn": begun.nn, "csls": begun.csls}
    for name, halving in (("fixed", False), ("halving", True)):
        matrix, values, lengths = descend(
            objective, first, RcslsOptions(steps=30), first_step=25.0, halving=halving
        )
        found = accuracy(matrix.numpy(), source.values, target.values, ask, k=K)
        record[name] = {"objective": values, "steps": lengths, "nn": found.nn, "csls": found.csls}
    return record


def memory_record(args: argparse.Namespace) -> dict[str, Any]:
    """RCSLS on random vectors; peak memory of this process, which does nothing else."""
    imports = peak_megabytes()
    random = np.random.default_rng(0)
    tables = []
    for _ in range(2):
        values = random.standard_normal((args.words, 300), dtype=np.float32)
        tables.append(prepare(values, in_place=True))
    prepared = peak_megabytes()
    pairs = random.integers(0, args.words, (args.pairs, 2))
    times = [time.perf_counter()]
    options = RcslsOptions(steps=2, on_step=lambda _: times.append(time.perf_counter()))
    made = rcsls(tables[0], tables[1], pairs, options, device="cpu")
    return {
        "words": args.words, "dim": 300, "pairs": args.pairs, "seed": 0, "threads": torch.get_num_threads(),
        "peak_megabytes": {"imports": imports, "prepared": prepared, "rcsls": peak_megabytes()},
        "seconds_per_step": times[-1] - times[-2], "objective": made.objective,
    }  # fmt: skip


def peak_megabytes() -> float:
    """Peak memory of this process in 10⁶ bytes; Linux counts in units of 1024."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


RECORDS = {"accuracy": accuracy_record, "fixed-step": fixed_step_record, "memory": memory_record}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("alignment", __doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    for name in RECORDS:
        command = commands.add_parser(name)
        if name == "memory":
            command.add_argument("--words", type=int, default=200_000)
            command.add_argument("--pairs", type=int, default=5000)
        else:
            for folder in ("vectors", "dictionaries", "dataset")[: 3 if name == "accuracy" else 2]:
                command.add_argument(folder, type=Path)
            command.add_argument("--langs", nargs="+", default=["de", "cs", "fr", "ar"])
        add_out(command, "results/alignment")
        command.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(arguments)
    torch.set_num_threads(args.threads)
    about = {"name": args.name, "study": "alignment"}
    append(args.out / RUNS, {**about, **origin(), **RECORDS[args.name](args)})


if __name__ == "__main__":
    main()
