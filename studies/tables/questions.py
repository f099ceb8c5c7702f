"""Tables of single questions: LIWE's sizes, SMALR's ablations, the search for our own recipe and its speed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from studies.tables.languages import MISSING, cells, mean
from studies.tables.markdown import table
from studies.tables.records import LANGUAGES, TESTED, Records

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
# The sentence encoder of all of them: a GRU of 1024 in two directions over words of 300.
GRU = 2 * 3 * 1024 * (300 + 1024 + 2)
# Weight of masked cross-language modelling, as a power of ten, and its record.
LAMBDAS = {
    -5: "smalr-lambda-5",
    -4: "smalr",
    -3: "smalr-lambda-3",
    -2: "smalr-lambda-2",
    -1: "smalr-lambda-1",
}


def liwe_sizes(records: Records) -> str:
    """LIWE's Table 1, English: how large the layers that compose words should be."""
    columns = [(side, key) for side in ("i2t", "t2i") for key in ("R@1", "R@10")]
    words = {name: _word_values(records.find(name)) for name in LIWE.values()}
    rows = []
    for label, name in LIWE.items():
        record, own, rival = records.find(name), words[name], words["clmr_gru"]
        if record is None or own is None:
            rows.append([label, MISSING, *[""] * (len(columns) + 2)])
            continue
        tests = [run["test"]["languages"]["en"] for run in record["runs"]]
        recalls = [mean([test[side][key] for test in tests]) for side, key in columns]
        fewer = "" if rival is None else f"{rival / own:.1f}"
        rows.append([label, *recalls, mean([test["mR"] for test in tests]), f"{own / 1e6:.2f}", fewer])
    head = ["words", *(f"{side} {key}" for side, key in columns), "mR", "word values, M", "times fewer"]
    return table(head, rows)


def _word_values(record: dict[str, Any] | None) -> int | None:
    return None if record is None else int(record["runs"][0]["parameters"]["text"]) - GRU


def val_average(records: Records, name: str) -> float | None:
    """Mean mR on val over the ten languages at the epoch that was kept."""
    row = records.row(name)
    if row is None or any(lang not in row.val for lang in LANGUAGES):
        return None
    return statistics.mean(statistics.mean(row.val[lang]) for lang in LANGUAGES)


def lambdas(records: Records) -> str:
    """SMALR's Figure 4: the weight of masked cross-language modelling, on val."""
    rows = []
    for power, name in LAMBDAS.items():
        found = val_average(records, name)
        paper = " (the paper's)" if name == "smalr" else ""
        rows.append([f"1e{power}{paper}", MISSING if found is None else f"{found:.1f}"])
    return table(["weight", "mR on val, mean of ten languages"], rows)


def exploration(records: Records) -> str:
    """SMALR's Tables 5 and 6: words that sometimes try another latent token."""
    head = ["model", *TESTED, "HA", "A"]
    rows = []
    for label, name in {"LA without exploration": "la-no-exploration", "LA": "la"}.items():
        rows.append([label, *cells(records.row(name), len(head) - 1)[: len(head) - 1]])
    return table(head, rows)


def search_log(records: Records) -> str:
    """What was tried for the lingvis recipe, on val."""
    tried = records.find("search")
    if tried is None:
        return f"{MISSING.capitalize()}."
    rows = [
        [each["name"], _code(each["overrides"]), each["note"], str(each["epochs"]), f"{each['val_A']:.1f}"]
        for each in tried
    ]
    return table(["run", "values", "note", "epochs", "val A"], rows, left=3)


def latent_tokens(records: Records) -> str:
    """How many latent tokens words still use after some steps of pre-training."""
    found = records.find("latent")
    if found is None:
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
        for run in found["runs"]
    ]
    head = [
        "tokens",
        "scores",
        "exploration",
        "pictures a step",
        "steps",
        "used before",
        "used after",
        "loss",
        "code",
    ]
    return table(head, rows, left=2)


def plateaus(records: Records) -> str:
    """Where the loss of a run stands against that of a blind model, at some steps."""
    found = records.find("plateaus")
    if found is None:
        return f"{MISSING.capitalize()}."
    rows = []
    for name, run in found["runs"].items():
        shares = {step: loss / blind for step, loss, blind in run["curve"]}
        last = max(shares)
        picked = [f"{shares[step]:.2f}" if step in shares else "" for step in (120, 240, 360)]
        rows.append([name, *picked, f"{shares[last]:.2f}", f"{last:,}"])
    return table(["run", "step 120", "step 240", "step 360", "at the end", "last step"], rows)


def dictionary_rules(records: Records) -> str:
    """How often each rule chooses a word of the English sentence."""
    found = records.find("../dictionaries/coverage")
    if found is None:
        return f"{MISSING.capitalize()}."
    rows = [
        [
            lang,
            *(
                f"{100 * rule['in_english_sentence'] / rule['words']:.0f} %"
                for rule in each["rules"].values()
            ),
        ]
        for lang, each in found["languages"].items()
        if each["rules"]["first"]["words"]
    ]
    return table(
        ["", "first", "first that occurs in English captions", "most frequent in English captions"], rows
    )


def dictionary_coverage(records: Records) -> str:
    """How many words of the training captions have a translation."""
    found = records.find("../dictionaries/coverage")
    if found is None:
        return f"{MISSING.capitalize()}."
    rows = [
        [lang, f"{100 * each['different_words']:.0f} %", f"{100 * each['all_words']:.0f} %"]
        for lang, each in found["languages"].items()
    ]
    return table(["", "different words", "all words"], rows)


def query_speed(records: Records) -> str:
    """Queries a second of the lingvis model on a CPU."""
    found = records.find("queries")
    if found is None:
        return f"{MISSING.capitalize()}."
    rows = [
        ["queries a second, many at once", f"{found['batch_queries_per_s']:,.0f}"],
        ["one query, median, ms", f"{found['single_ms_median']:.1f}"],
        ["one query, 95 of 100 are faster than, ms", f"{found['single_ms_p95']:.1f}"],
    ]
    return table([f"on {found['cores']} cores", ""], rows)


def _code(overrides: Sequence[str]) -> str:
    return " ".join(f"`{each}`" for each in overrides)
