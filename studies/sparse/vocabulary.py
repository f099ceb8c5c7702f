"""How many words pseudo captions share with what people say: the intersection over union of A3VSE's section 4.6.

python -m studies sparse-vocabulary DATASET --detections regions global joined

Pseudo captions are those of the training pictures that remain without human captions at 10 % x 5, queries are the
captions of split test. One record per name of detections; nothing is trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from lingvis.cli.output import print_table
from lingvis.data.dataset import Dataset
from lingvis.data.detections import FILE
from lingvis.data.sparse import draw_sparse
from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.pseudo import pseudo_captions
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.segment import words
from studies.arguments import add_out, make_parser
from studies.records import RUNS, Record, agrees, append, check_writable, find, origin
from studies.sparse.methods import ABLATED

STUDY = "sparse-vocabulary"
LEAST = (
    4,
    1,
)  # times that a word must occur to count: the paper leaves out words that occur less than 4 times


def overlap(pseudo: Counter[str], human: Counter[str], least: int) -> Record:
    """Sizes of two vocabularies, their intersection over union, and the share of the human words that both have.

    words: of the pseudo captions that occur at least `least` times; human: the same of human captions; shared: words
    that both have; iou: shared / (words of either); covered: share of all human words, repetitions included, that are
    words of the pseudo captions.
    """
    own, theirs = _at_least(pseudo, least), _at_least(human, least)
    shared = own & theirs
    return {
        "least": least,
        "words": len(own),
        "human": len(theirs),
        "shared": len(shared),
        "iou": len(shared) / max(1, len(own | theirs)),
        "covered": sum(human[word] for word in own) / max(1, human.total()),
    }


def _at_least(counts: Counter[str], least: int) -> set[str]:
    return {word for word, count in counts.items() if count >= least}


def count_words(captions: Iterable[str]) -> Counter[str]:
    """How often each word occurs, in lower case."""
    return Counter(word for caption in captions for word in words(caption, LABEL_LANGUAGE))


def measure(dataset: Dataset, detections: str, undescribed: Collection[str]) -> Record:
    """The overlap of the pseudo captions of pictures with the queries of test, and with all training captions."""
    captions = pseudo_captions(dataset, [LABEL_LANGUAGE], detections=detections)[LABEL_LANGUAGE]
    pseudo = count_words(caption for image, caption in captions.items() if image in undescribed)
    splits = {split: dataset.captions(split, [LABEL_LANGUAGE]).texts for split in ("test", "train")}
    return {
        split: [overlap(pseudo, count_words(texts), least) for least in LEAST]
        for split, texts in splits.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, count, print."""
    parser = make_parser(STUDY, __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--detections", nargs="+", default=["regions", "global", "joined"])
    parser.add_argument("--seed", type=int, default=0, help="of the draw of annotated pictures")
    add_out(parser, "results/sparse/vocabulary")
    args = parser.parse_args(arguments)
    check_writable(args.out)
    dataset = Dataset.open(args.dataset)
    share, count = ABLATED
    drawn = draw_sparse(
        dataset.captions("train", [LABEL_LANGUAGE]), images=share, per_image=count, seed=args.seed
    )
    rows = []
    for detections in args.detections:
        conditions = {
            "detections": detections,
            "images": share,
            "per_image": count,
            "seed": args.seed,
            "dataset_sha256": dataset.fingerprint,
            "detections_sha256": _checksum(dataset, detections),
        }
        record = find(args.out / RUNS, detections)
        if record is not None and not agrees(record, conditions):
            raise UserError(
                f"record {detections} of {args.out / RUNS} was made with other data; choose another --out, or delete "
                "its line"
            )
        if record is None:
            found = measure(dataset, detections, set(drawn.without))
            record = {"name": detections, "study": STUDY, **conditions, **found, **origin()}
            append(args.out / RUNS, record)
        rows.append(vocabulary_row(record))
    print_table("words of pseudo captions", VOCABULARY_HEAD, rows)


VOCABULARY_HEAD = [
    "pseudo captions",
    "words",
    "IoU with queries",
    "IoU with training captions",
    "all words: IoU with queries",
    "words of a query that are known",
]


def vocabulary_row(record: dict[str, Any], label: str = "") -> list[str]:
    """A line of the table."""
    (queries, every), (training, _) = record["test"], record["train"]
    return [
        label or record["name"],
        f"{queries['words']:,}",
        *(f"{100 * part['iou']:.1f} %" for part in (queries, training, every)),
        f"{100 * every['covered']:.0f} %",
    ]


def _checksum(dataset: Dataset, detections: str) -> str:
    file = dataset.detections_dir / detections / FILE
    return checksum(file) if file.is_file() else ""


if __name__ == "__main__":
    main()
