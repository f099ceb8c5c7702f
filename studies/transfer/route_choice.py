"""Which route add-language chooses from few captioned pictures, beside every single route on pictures that it never saw.

python -m studies route-choice DATASET --run lingvis-base --lang es --pictures 125 --seeds 0 1

The pictures are those of one split that the model was not trained on, each encoded once. Some have a sentence in the
language and one in --known, some only the latter (--described), and the rest are unseen: after every route has learnt
from the former, sentences of the rest are queries among the rest. The route is chosen by cross-validation,
as in `lingvis add-language`, which never sees the rest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.new_language.cross_validation import cross_validate
from lingvis.new_language.gather import gather
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.routes import ROUTES
from lingvis.new_language.run import objective_temperature
from lingvis.new_language.start_factory import LexicalResources
from lingvis.new_language.task import TeachingPlan
from lingvis.new_language.try_routes import RouteOutcome, best_outcome, learn_by_route, with_language
from lingvis.pretrained import find_model
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, Record, append, check_writable, origin


def sentence(row: Row, lang: str) -> str | None:
    """The parallel sentence of a picture, otherwise its first caption."""
    return row.parallel.get(lang) or next(iter(row.captions.get(lang, ())), None)


def draw(
    rows: Sequence[Row], lang: str, known: str, *, captioned: int, described: int, seed: int
) -> tuple[list[Row], list[Row]]:
    """Pictures to learn from, the first ones with a sentence in the language; and unseen ones."""
    order = np.random.default_rng(seed).permutation(len(rows))
    learn = [
        Row(
            image=rows[place].image,
            split="train",
            captions={
                each: (text,)
                for each in ((known, lang) if number < captioned else (known,))
                if (text := sentence(rows[place], each))
            },
        )
        for number, place in enumerate(order[: captioned + described])
    ]
    return learn, [rows[place] for place in order[captioned + described :]]


class RouteChoice:
    """One model, one language, and the embeddings of all pictures of a split."""

    def __init__(self, run: Path, dataset: Dataset, lang: str, known: str, split: str, device: str | None):
        self.embedder, self.config = Embedder.load(run, device=device), ModelConfig.read(run)
        self.dataset, self.lang, self.known = dataset, lang, known
        self.rows = [
            row for row in dataset.rows if row.split == split and sentence(row, lang) and sentence(row, known)
        ]
        files = [dataset.images_dir / row.image for row in self.rows]
        self.image_emb = dict(
            zip((row.image for row in self.rows), self.embedder.encode_images(files), strict=True)
        )

    def measure(self, *, captioned: int, described: int, seed: int) -> Record:
        """Scores of every route: by cross-validation, and on unseen pictures."""
        learn, unseen = draw(
            self.rows, self.lang, self.known, captioned=captioned, described=described, seed=seed
        )
        if len(unseen) < captioned:
            raise UserError(f"{len(unseen)} pictures remain unseen; learn from fewer of {len(self.rows)}")
        began = time.perf_counter()
        data = gather(Dataset(self.dataset.path, learn), self.lang, self.embedder.languages, seed=seed)
        names = data.learn.images
        pool = self._embeddings(names)
        outcomes = cross_validate(
            self.embedder,
            self.config.model,
            data,
            pool,
            [RetrievalMeasure.among_pictures(fold, names, pool) for fold in data.folds],
            resources=LexicalResources(vectors=None, dictionary=None, pivot=None),
            plan=(plan := TeachingPlan(seed=seed, temperature=objective_temperature(self.config.recipe))),
            routes=ROUTES,
        )
        chosen, seconds = best_outcome(outcomes), time.perf_counter() - began
        held_out = RetrievalMeasure(
            [sentence(row, self.lang) or "" for row in unseen],
            self.lang,
            self._embeddings([row.image for row in unseen]),
            range(len(unseen)),
        )

        def score(route: str, outcome: RouteOutcome) -> float:
            """mR of a route on unseen pictures, learnt from all sentences for the epochs that were chosen."""
            language = outcome.language or learn_by_route(
                self.embedder,
                self.config.model,
                data,
                pool,
                resources=LexicalResources(vectors=None, dictionary=None, pivot=None),
                plan=plan,
                route=next(each for each in ROUTES if each.name == route),
                epochs=outcome.epoch,
            )
            return held_out.score(with_language(self.embedder, language))

        routes: list[dict[str, Any]] = [
            outcome.as_json() | ({} if outcome.reason else {"unseen": score(outcome.route, outcome)})
            for outcome in outcomes
        ]
        return {
            "seed": seed,
            "sentences": len(data.learn.texts),
            "pool": len(names),
            "unseen": len(unseen),
            "zero_shot": held_out.zero_shot(self.embedder),
            "chosen": chosen.route,
            "routes": routes,
            "seconds_to_choose": round(seconds, 1),
        }

    def _embeddings(self, names: Sequence[str]) -> Floats:
        return np.stack([self.image_emb[name] for name in names])


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure every seed, append the record, print one line per route."""
    parser = make_parser("route-choice", __doc__)
    parser.add_argument("dataset", type=Path, help="a dataset folder")
    parser.add_argument("--run", type=Path, default=Path("lingvis-base"), help="a model without the language")
    parser.add_argument("--lang", default="es")
    parser.add_argument("--known", default="en", help="a language of the model that all pictures have")
    parser.add_argument("--pictures", type=int, default=125, help="with a sentence in the language")
    parser.add_argument("--described", type=int, default=300, help="with a sentence in --known only")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--split", default="test")
    add_out(parser, "results/route-choice")
    add_device(parser)
    args = parser.parse_args(arguments)
    check_writable(args.out)
    run, dataset = find_model(args.run), Dataset.open(args.dataset)
    choice = RouteChoice(run, dataset, args.lang, args.known, args.split, args.device)
    runs = []
    for seed in args.seeds:
        runs.append(choice.measure(captioned=args.pictures, described=args.described, seed=seed))
        for route in runs[-1]["routes"]:
            print(seed, route, flush=True)
    record = {
        "name": f"{args.lang}-{args.pictures}",
        "study": "route-choice",
        "model": choice.embedder.name,
        "dataset": dataset.path.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "lang": args.lang,
        "known": args.known,
        "split": args.split,
        "captioned": args.pictures,
        "described": args.described,
        "runs": runs,
        **origin(),
    }
    append(args.out / RUNS, record)


if __name__ == "__main__":
    main()
