"""Tables of single choices in the study of languages: LIWE's sizes, SMALR's ablations, the search for our recipe."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from studies.languages.rows import EXPLORING
from studies.records import Record
from studies.tables.markdown import spread, table
from studies.tables.results.language_scores import LANGUAGES, STUDY, TESTED, runs_of, scores
from studies.tables.results.languages import MISSING, cells
from studies.tables.results.records import Results

# Label of a row and its record.
LIWE = {
    "CLMR-GRU, a vector for each word": "clmr_gru",
    "LIWE, GRU over characters": "liwe-char-gru",
    "LIWE (128, 256)": "liwe-128-256",
    "LIWE (128, 384)": "liwe-128-384",
    "LIWE (256, 256)": "liwe-256-256",
    "LIWE (128, 512)": "liwe-128-512",
    "LIWE (384, 384)": "liwe-384-384",
    "LIWE (384, 448)": "s_liwe-1",
    "LIWE (512, 512)": "liwe-512-512",
    "LIWE (1024, 512)": "liwe-1024-512",
}
# Models whose terms across languages rise after the plateau.
RISING = {
    "MULE, 2 languages": "mule-2-languages",
    "MULE, 7 languages": "mule-7-languages",
    "MULE, 10 languages": "mule",
    "MULE, 10 languages, aligned word vectors": "mule-aligned",
    "LA, 10 languages": "la",
    "LA, 10 languages, without exploration": "la-no-exploration",
    "HEM, 10 languages": "hem",
    "SMALR, 2 languages": "smalr-2-languages",
    "SMALR, 7 languages": "smalr-7-languages",
    "SMALR, 10 languages": "smalr",
}
LATE = {"SMALR": "smalr", "HEM": "hem"}
LATE_EPOCHS = (1, 3, 5, 7, 9, 11, 13, 15, 18, 24)
# Rows by what their latent vocabulary was found with: LA, HEM and SMALR share one of ten languages.
PRETRAINED = {
    "SMALR, 2 languages": "smalr-2-languages",
    "SMALR, 7 languages": "smalr-7-languages",
    "LA, HEM and SMALR, 10 languages": "la",
    "LA, 10 languages, without exploration": "la-no-exploration",
    "LA, 10 languages, vectors trained apart": "la-apart",
}
LATENT = {
    "LA": "la",
    "LA, word vectors trained apart": "la-apart",
    "LA, one epoch of pre-training": "la-short",
    "LA, both": "la-apart-short",
    "LA, without exploration": "la-no-exploration",
}
EXPLORATION = {
    **{f"{name.upper()} without exploration": f"{name}-no-exploration" for name in EXPLORING},
    **{name.upper(): name for name in EXPLORING},
}
# Shares of words that explore, and the records with the logs, seed 0.
EXPLORED = {
    "none": "la-no-exploration/0",
    "0.05": "pretraining/explore-0.05",
    "0.1": "pretraining/explore-0.1",
    "0.2, as in the paper": "la/0",
    "0.2 after epoch 3": "pretraining/explore-0.2-after-3",
}
EXPLORED_EPOCHS = range(8)
# The sentence encoder of all of them: a GRU of 1024 in two directions over words of 300.
GRU = 2 * 3 * 1024 * (300 + 1024 + 2)
# Weight of masked cross-language modelling, as a power of ten, and its record.
LAMBDAS = {
    -5: "smalr-lambda-5",
    -4: "smalr-lambda-4",
    -3: "smalr-lambda-3",
    -2: "smalr-lambda-2",
    -1: "smalr-lambda-1",
}


def liwe_sizes(results: Results) -> str:
    """LIWE's Table 1, English: how large the layers that compose words should be."""
    columns = [(side, key) for side in ("i2t", "t2i") for key in ("R@1", "R@10")]
    words = {name: _word_values(runs_of(results, name)) for name in LIWE.values()}
    rows = []
    for label, name in LIWE.items():
        runs, values, rival = runs_of(results, name), words[name], words["clmr_gru"]
        if values is None:
            rows.append([label, MISSING, *[""] * (len(columns) + 2)])
            continue
        tests = [run["test"]["languages"]["en"] for run in runs]
        recalls = [spread([test[side][key] for test in tests]) for side, key in columns]
        fewer = "" if rival is None else f"{rival / values:.1f}"
        rows.append([label, *recalls, spread([test["mR"] for test in tests]), f"{values / 1e6:.2f}", fewer])
    head = ["words", *(f"{side} {key}" for side, key in columns), "mR", "word values, M", "times fewer"]
    return table(head, rows)


def _word_values(runs: Sequence[Record]) -> int | None:
    """The number of trained values of the words alone."""
    return int(runs[0]["parameters"]["text"]) - GRU if runs else None


def val_average(results: Results, name: str) -> float | None:
    """Mean mR on val over the ten languages at the selected epoch."""
    row = scores(results, name)
    if row is None or any(lang not in row.val for lang in LANGUAGES):
        return None
    return statistics.mean(statistics.mean(row.val[lang]) for lang in LANGUAGES)


def lambdas(results: Results) -> str:
    """SMALR's Figure 4: the weight of masked cross-language modelling, on val."""
    rows = []
    for power, name in LAMBDAS.items():
        average = val_average(results, name)
        paper = " (the paper's)" if power == -4 else ""
        rows.append([f"1e{power}{paper}", MISSING if average is None else f"{average:.1f}"])
    return table(["weight", "mR on val, mean of ten languages"], rows)


def exploration(results: Results) -> str:
    """SMALR's Tables 5 and 6: words that sometimes try another latent token."""
    head = ["model", *TESTED, "HA", "A"]
    rows = []
    for label, name in EXPLORATION.items():
        rows.append([label, *cells(scores(results, name), len(head) - 1)[: len(head) - 1]])
    return table(head, rows)


def latent_costs(results: Results) -> str:
    """LA with and without one space for all languages, and with a long and a short pre-training."""
    rows = []
    for label, name in LATENT.items():
        # Runs of earlier recipes, whose word vectors were not aligned, have no log of pre-training.
        runs = [run for run in runs_of(results, name) if "pretraining" in run]
        if not runs:
            rows.append([label, MISSING, *[""] * 3])
            continue
        logs = [run["pretraining"] for run in runs]
        recalls = [max(line["R@10"] for line in log[:-1]) for log in logs]
        numbers = ([run["test"]["A"] for run in runs], recalls, [log[-1]["shared"] for log in logs])
        rows.append([label, *map(spread, numbers), str(len(runs))])
    return table(["model", "A", "pre-training, R@10", "translations with one token, %", "seeds"], rows)


def plateau_ends(results: Results) -> str:
    """Epochs before the terms across languages begin to rise, by seed."""
    rows = []
    for label, name in RISING.items():
        runs = [run for run in runs_of(results, name) if "learning_since" in run]
        if runs:
            since = [run["learning_since"] for run in runs]
            ends = ", ".join("never" if epochs is None else str(epochs) for epochs in since)
            best = ", ".join(str(run["training"]["best_epoch"]) for run in runs)
            rows.append([label, ends, best, str(len(runs[0]["validation"]))])
    head = ["model", "epochs on the plateau, by seed", "best epoch, by seed", "epochs"]
    return table(head, rows) if rows else f"{MISSING.capitalize()}."


def common_space(results: Results) -> str:
    """How well the word vectors of each language were rotated into the space of English."""
    record = results.get("alignment", "common-space")
    languages = record["languages"]
    rows = [
        ["pairs of words", *(f"{each['pairs']:,}" for each in languages.values())],
        ["held-out translations that are found, %", *(f"{each['right']:.1f}" for each in languages.values())],
    ]
    return table(["rotated into the space of English", *languages], rows)


def plateau_recall(results: Results) -> str:
    """mR on val of runs that leave the plateau late, by epoch."""
    rows = []
    for label, name in LATE.items():
        for run in runs_of(results, name):
            scores = {epoch: score for epoch, score, _ in run["validation"]}
            cells = [f"{scores[epoch]:.1f}" if epoch in scores else "" for epoch in LATE_EPOCHS]
            rows.append([label, str(run["seed"]), *cells])
    return table(["mR on val after epoch", "seed", *map(str, LATE_EPOCHS)], rows)


def pretraining(results: Results) -> str:
    """Losses, recall and shared tokens of the latent vocabulary of SMALR before training, by run."""
    rows = []
    for label, name in PRETRAINED.items():
        runs = [run for run in runs_of(results, name) if run.get("pretraining")]
        rows += [[label, str(run["seed"]), *_pretrained(run["pretraining"])] for run in runs]
    head = ["model", "seed", "loss, first epoch", "loss, last", "blind", "R@10, first", "R@10, best"]
    return (
        table([*head, "tokens used", "translations with one token"], rows)
        if rows
        else f"{MISSING.capitalize()}."
    )


def explored(results: Results) -> str:
    """Recall across languages on val by epoch of the pre-training of LA, with shares of exploration."""
    logs = {label: _log_of(results, name) for label, name in EXPLORED.items()}
    rows = []
    for label, log in logs.items():
        recalls = {line["epoch"]: line["R@10"] for line in log if "epoch" in line}
        if recalls:
            rows.append([label, *(f"{recalls[at]:.1f}" if at in recalls else "" for at in EXPLORED_EPOCHS)])
    return table(["exploration", *map(str, EXPLORED_EPOCHS)], rows) if rows else f"{MISSING.capitalize()}."


def _log_of(results: Results, name: str) -> list[Record]:
    record = results.find(STUDY, name) or {}
    return record.get("log") or record.get("pretraining") or []


def _pretrained(log: Sequence[Record]) -> list[str]:
    epochs, last = [line for line in log if line.get("epoch")], log[-1]
    losses = [f"{epochs[place]['loss']:.3f}" for place in (0, -1)]
    recalls = [epochs[0]["R@10"], max(line["R@10"] for line in epochs)]
    numbers = [*losses, f"{epochs[-1]['blind']:.3f}", *(f"{recall:.1f}" for recall in recalls)]
    return [*numbers, f"{last['used']:,} of {last['tokens']:,}", f"{last['shared']:.0f} %"]


def search_log(results: Results) -> str:
    """The runs that led to recipe lingvis_frozen, on val."""
    record = results.find(STUDY, "search")
    if record is None:
        return f"{MISSING.capitalize()}."
    rows = [
        [each["name"], _code(each["overrides"]), each["note"], str(each["epochs"]), f"{each['val_A']:.1f}"]
        for each in record["tried"]
    ]
    return table(["run", "values", "note", "epochs", "val A"], rows, left=3)


def latent_tokens(results: Results) -> str:
    """The number of latent tokens that words use after some steps of pre-training."""
    record = results.find(STUDY, "latent")
    if record is None:
        return f"{MISSING.capitalize()}."
    rows = [
        [
            f"{run['tokens']:,}",
            run["scores"],
            f"{run['explore']:g}",
            str(run["pictures"]),
            f"{run['steps']:,}",
            f"{run['used_before']:,}",
            f"{run['used_after']:,}",
            f"{run['loss']:.3f}",
            run["code"],
        ]
        for run in record["runs"]
    ]
    head = [
        "tokens",
        "scores",
        "exploration",
        "pictures per step",
        "steps",
        "used before",
        "used after",
        "loss",
        "code",
    ]
    return table(head, rows, left=2)


def plateaus(results: Results) -> str:
    """The loss of a run as a share of a blind model's, at some steps."""
    record = results.find(STUDY, "plateaus")
    if record is None:
        return f"{MISSING.capitalize()}."
    rows = []
    for name, run in record["runs"].items():
        shares = {step: loss / blind for step, loss, blind in run["curve"]}
        last = max(shares)
        picked = [f"{shares[step]:.2f}" if step in shares else "" for step in (120, 240, 360)]
        rows.append([name, *picked, f"{shares[last]:.2f}", f"{last:,}"])
    return table(["run", "step 120", "step 240", "step 360", "at the end", "last step"], rows)


def _code(overrides: Sequence[str]) -> str:
    return " ".join(f"`{each}`" for each in overrides)
