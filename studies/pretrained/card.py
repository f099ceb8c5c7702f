"""Write the card of the model that comes with lingvis, with the numbers of `python -m studies precision`.

python -m studies card src/lingvis/pretrained/lingvis-base --validation lingvis-base-train

MODEL: the compressed model folder; its card.md is replaced. Scores on test are those of the record with the name of
the folder. Languages without a test split are measured on val, by a model that was not trained on val: --validation
is the name of its records.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.errors import UserError
from lingvis.files import write_text
from lingvis.model.folder import CARD, ModelConfig, folder_bytes
from lingvis.model.precision import Precision
from studies.arguments import make_parser
from studies.pretrained.precision import FOLDER, PRECISIONS, record_name
from studies.pretrained.text import DATA, DO_NOT_USE, KINDS, LIMITS, SOURCES, USE
from studies.records import RUNS, Record, find
from studies.tables.markdown import table

MOST_LOST = 0.3  # mR that a lower precision may cost


def card(config: ModelConfig, size: int, tested: Record, whole: Record, validated: Record) -> str:
    """Markdown about the model.

    size: bytes of its folder without the card. tested, whole: the records of the model on test, as shipped and in
    float32. validated: the record on val of a model that was not trained on val.
    """
    same = validated["row"] == tested["row"]
    other = "" if same else ", by a model of the same recipe that was trained on split train alone"
    more = "" if same else " and val"
    return "\n".join(
        [
            f"# {config.name}",
            "A small model that puts photographs and sentences of ten languages into one space, to search photographs. It "
            f"comes with lingvis and is trained with recipe `{config.recipe.get('name', '')}` on split train{more} of "
            f"{config.dataset.name}.",
            "",
            "## Use",
            USE.format(name=config.name),
            "",
            "## Data and terms",
            DATA.format(network=config.model.image.backbone.options["network"]),
            "",
            "## Scores",
            f"mR is the mean of R@1, R@5 and R@10 in both directions, in %, under protocol {tested['protocol']}: all "
            "captions of a split against its photographs. Languages marked * "
            f"have no test split and are measured on split val{other}.",
            "",
            scores(tested, validated),
            "",
            f"A, the mean of the languages on test, is {tested['A']:.1f}.",
            "",
            "## Size and speed",
            sizes(config, size, tested, whole),
            "",
            "## Limits",
            LIMITS,
            "",
            "## Do not use it for",
            DO_NOT_USE,
            "",
            "## Sources",
            SOURCES,
            "",
        ]
    )


def scores(tested: Record, validated: Record) -> str:
    """A table of recalls by language: those of test, then those that val alone has."""
    rows = []
    for record, mark in ((tested, ""), (validated, " *")):
        for lang, each in record["languages"].items():
            if record is validated and lang in tested["languages"]:
                continue
            recalls = [f"{each[side][f'R@{k}']:.1f}" for side in ("t2i", "i2t") for k in (1, 5, 10)]
            kind = KINDS.get(lang, "")
            rows.append([lang, kind, record["split"] + mark, *recalls, f"{each['mR']:.1f}"])
    recalled = [
        f"{side} R@{k}" for side in ("sentence to picture", "picture to sentence") for k in (1, 5, 10)
    ]
    return table(["language", "captions", "split", *recalled, "mR"], rows, left=3)


def sizes(config: ModelConfig, size: int, tested: Record, whole: Record) -> str:
    """Parameters, bytes and milliseconds."""
    counts, hardware = tested["parameters"], tested["hardware"]
    lost = most_lost(tested, whole)
    change = f"loses {lost:.2f} mR" if lost > 0 else "loses nothing"
    return "\n".join(
        [
            f"- {counts['total']:,} parameters: {counts['image']:,} of the image side with its backbone, "
            f"{counts['text']:,} of the text side.",
            f"- {size / 1e6:.1f} MB on disk, weights in {tested['weights']} (float32: {whole['weight_bytes'] / 1e6:.1f} "
            f"MB). Against float32, A changes from {whole['A']:.2f} to {tested['A']:.2f}; the language that loses most "
            f"{change}.",
            f"- {tested['ms_per_sentence']:.1f} ms per sentence and {tested['ms_per_picture']:.0f} ms per picture with "
            f"its decoding, one at a time on one core of {hardware['cpu']}{_disturbed(tested)}.",
            f"- Pictures are seen as {_pixels(config)} pixels.",
        ]
    )


def _disturbed(tested: Record) -> str:
    """A clause about what disturbed the times."""
    caveats = [
        each.removeprefix("times: ") for each in tested.get("caveats", []) if each.startswith("times: ")
    ]
    return f" ({'; '.join(caveats)})" if caveats else ""


def most_lost(tested: Record, whole: Record) -> float:
    """mR that the shipped precision costs the language that loses most."""
    return float(
        max(whole["languages"][lang]["mR"] - each["mR"] for lang, each in tested["languages"].items())
    )


def _pixels(config: ModelConfig) -> str:
    assert config.features.preprocessing is not None
    side = config.model.image.backbone.options.get("size") or config.features.preprocessing.size
    return f"{side} x {side}"


def read_record(results: Path, name: str, split: str, weights: Precision) -> Record:
    """A record of the study precision, which must exist."""
    record = find(results / RUNS, record_name(name, split, weights))
    if record is None:
        raise UserError(
            f"{results / RUNS} has no record {record_name(name, split, weights)}; measure it with: python -m studies "
            f"precision RUN DATASET --name {name} --split {split}"
        )
    return record


def find_shipped(results: Path, name: str, config: ModelConfig) -> Record:
    """The record on test of the very model in a folder, found by its fingerprint."""
    for weights in PRECISIONS:
        record = find(results / RUNS, record_name(name, "test", weights))
        if record is not None and record["image_fingerprint"] == config.image_fingerprint:
            return record
    raise UserError(
        f"{results / RUNS} has no record {name}/test of this model (image side {config.image_fingerprint[:12]}); measure "
        f"the run that it was compressed from with: python -m studies precision RUN DATASET --name {name}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, read the records, write card.md."""
    parser = make_parser("card", __doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--validation", required=True, help="name of the records on split val")
    parser.add_argument("--results", type=Path, default=Path("results") / FOLDER, help="folder of runs.jsonl")
    args = parser.parse_args(arguments)
    config = ModelConfig.read(args.model)
    tested = find_shipped(args.results, config.name, config)
    whole = read_record(args.results, config.name, "test", "float32")
    validated = read_record(args.results, args.validation, "val", tested["weights"])
    if whole["A"] - tested["A"] > MOST_LOST:
        raise UserError(
            f"{tested['weights']} loses {whole['A'] - tested['A']:.2f} mR on average, more than {MOST_LOST}; ship float16, "
            "or find the layer that suffers"
        )
    size = folder_bytes(args.model) - (args.model / CARD).stat().st_size
    write_text(args.model / CARD, card(config, size, tested, whole, validated))
    print(
        f"{args.model / CARD}: {folder_bytes(args.model):,} bytes in the folder, at most "
        f"{most_lost(tested, whole):.2f} mR lost in {tested['weights']}"
    )


if __name__ == "__main__":
    main()
