"""Recall of shorter embeddings, with pictures added that are no answer.

python -m studies compact DATASET --run RUN --split val --protocol flickr8k-ml

For each length of the embeddings: the first values, the same with pictures stored as int8 or as signs alone, and a
projection by the SVD of the training pictures. Distractors are random parts of training pictures, which join the
pictures that a sentence is compared with; pictures are compared with the sentences of the split alone. Every score is
exact. The plot is made by `python -m studies tables`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import ScoredPools, score_pools
from lingvis.evaluation.metrics import RetrievalScores, scores
from lingvis.evaluation.pools import languages_in
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.ranks import TIE_RULE, Ranks, limit, ranks
from lingvis.evaluation.scorers import InnerProduct
from lingvis.features.store import without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import StoredImages
from lingvis.progress import ProgressBar
from studies.arguments import add_device, add_out, make_parser
from studies.compact.distractors import AREA, count_before, encode_distractors
from studies.compact.forms import CompactForm, compact_forms
from studies.compact.report import compact_table
from studies.records import RUNS, append, check_writable, origin

DIMS = (32, 64, 128, 256)
DISTRACTORS = (10_000, 100_000)


def measure_compact(
    run: Path,
    dataset: Path,
    *,
    split: str,
    protocol: str = "all",
    dims: Sequence[int] = DIMS,
    distractors: Sequence[int] = DISTRACTORS,
    seed: int = 0,
    device: str | None = None,
) -> dict[str, Any]:
    """The record of one model on one split: a row per form, length and number of distractors."""
    began = time.perf_counter()
    if split == "train":
        raise UserError("split is train, which the distractors are made from; measure val or test")
    model, opened = Embedder.load(run, device=device), Dataset.open(dataset)
    if not model.inner_product:
        raise UserError(f"the scores of model {model.name} are not inner products; choose another model")
    stored = StoredImages.open(model, opened)
    opened = without_broken(opened, [stored.store])
    chosen = find_protocol(protocol)
    if chosen.folds != 1:
        raise UserError(f"protocol {protocol} has {chosen.folds} folds; choose one without folds")
    languages = [lang for lang in languages_in(opened, chosen, split) if lang in model.languages]
    scored = score_pools([stored], opened, protocol=chosen, split=split, languages=languages)
    names = [row.image for row in opened.rows if row.split == "train"]
    train_emb = torch.from_numpy(stored.encode(names)).to(model.device)
    counts = sorted({0, *distractors})
    added = train_emb[:0]
    if counts[-1]:
        added = encode_distractors(stored, names, counts[-1], seed)
    lengths = [dim for dim in sorted(set(dims)) if dim < model.dim] + [model.dim]
    rows = []
    forms = list(compact_forms(train_emb, lengths))
    with ProgressBar("forms", len(forms)) as bar:
        for form in forms:
            rows += measure_form(form, scored, added, counts)
            bar.advance(1, f"{form.name}, {form.dim}")
    config = ModelConfig.read(run)
    return {
        "name": f"{model.name}/{split}/{seed}",
        "study": "compact",
        "model": model.name,
        "recipe": config.recipe.get("name", ""),
        "image_fingerprint": config.image_fingerprint,
        "dim": model.dim,
        "dataset": opened.path.resolve().name,
        "dataset_sha256": opened.fingerprint,
        "split": scored.split,
        "protocol": scored.protocol.name,
        "ties": TIE_RULE,
        "seed": seed,
        "distractors": {
            "source": "random parts of pictures of split train",
            "pictures": len(names),
            "smallest_area": AREA,
            "counts": counts,
        },
        "rows": rows,
        "seconds": round(time.perf_counter() - began, 1),
        **origin(),
    }


def measure_form(
    form: CompactForm, scored: ScoredPools, distractors: Tensor, counts: Sequence[int]
) -> list[dict[str, Any]]:
    """One row per number of distractors, with the scores of every language; counts are ascending."""
    by_count: dict[int, dict[str, RetrievalScores]] = {count: {} for count in counts}
    distractors = form.pictures(distractors)
    for pool, scorer in zip(scored.pools, scored.scorers, strict=True):
        assert isinstance(scorer, InnerProduct)
        images, texts = (
            torch.from_numpy(emb).to(distractors.device) for emb in (scorer.image_emb, scorer.text_emb)
        )
        images, texts = form.pictures(images), form.sentences(texts)
        shorter = InnerProduct(images.cpu().numpy(), texts.cpu().numpy())
        alone = ranks(shorter, pool.image_of)
        limits = torch.from_numpy(limit(shorter.pairs(pool.image_of))).to(distractors.device)
        before, measured = np.zeros(len(pool.texts), np.int64), 0
        for count in counts:
            before += count_before(texts, limits, distractors[measured:count]).cpu().numpy()
            measured = count
            by_count[count][pool.lang] = scores(Ranks(alone.i2t, alone.t2i + before))
    return [
        {"form": form.name, "dim": form.dim, "bytes": form.size, "distractors": count, **_summary(languages)}
        for count, languages in by_count.items()
    ]


def _summary(languages: dict[str, RetrievalScores]) -> dict[str, Any]:
    """mR and the mean recall of text to image, per language and as means over languages."""
    both = {lang: round(each.mR, 3) for lang, each in languages.items()}
    t2i = {
        lang: round(statistics.mean(each.t2i[key] for key in ("R@1", "R@5", "R@10")), 3)
        for lang, each in languages.items()
    }
    return {
        "mR": both,
        "t2i": t2i,
        "mean_mR": round(statistics.mean(both.values()), 3),
        "mean_t2i": round(statistics.mean(t2i.values()), 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record, print the table."""
    parser = make_parser("compact", __doc__)
    parser.add_argument("dataset", type=Path, help="a dataset folder with the model's stored pixels")
    parser.add_argument("--run", type=Path, required=True, help="the model folder")
    parser.add_argument("--split", default="val")
    parser.add_argument("--protocol", default="all")
    parser.add_argument("--dims", type=int, nargs="+", default=list(DIMS), help="lengths beside the full one")
    parser.add_argument(
        "--distractors", type=int, nargs="+", default=list(DISTRACTORS), help="numbers beside 0"
    )
    parser.add_argument("--seed", type=int, default=0)
    add_out(parser, "results/compact")
    add_device(parser)
    args = parser.parse_args(arguments)
    if min(args.dims) < 1 or min(args.distractors) < 0:
        parser.error("--dims must be 1 or more, --distractors 0 or more")
    check_writable(args.out)
    record = measure_compact(
        args.run,
        args.dataset,
        split=args.split,
        protocol=args.protocol,
        dims=args.dims,
        distractors=args.distractors,
        seed=args.seed,
        device=args.device,
    )
    append(args.out / RUNS, record)
    print(compact_table(record))


if __name__ == "__main__":
    main()
