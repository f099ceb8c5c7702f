"""Calibrate a model: `lingvis.calibrate`, `lingvis calibrate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lingvis.arrays import Floats
from lingvis.data.dataset import Captions, Dataset
from lingvis.errors import UserError
from lingvis.features.manifest import is_store
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import StoredImages
from lingvis.pretrained import find_model
from lingvis.relevance.calibration import Calibration
from lingvis.relevance.fit import fit_calibration
from lingvis.relevance.judgements import JudgedQuery, judge, try_queries
from lingvis.relevance.known_words import KnownWords


@dataclass(frozen=True, slots=True)
class CalibratedModel:
    """The folder that was written, its calibration, and the number of its known words."""

    path: Path
    calibration: Calibration
    known_words: int


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSplit:
    """Queries for the pictures of a split, with the embeddings of both: float32 [queries, dim], [pictures, dim]."""

    queries: list[JudgedQuery]
    text_emb: Floats
    image_emb: Floats

    @classmethod
    def of(cls, model: Embedder, dataset: Dataset, split: str) -> JudgedSplit:
        """Make the queries of a split and encode everything."""
        languages = [lang for lang in model.languages if lang in _languages(dataset, split)]
        captions = dataset.captions(split, languages or None)
        queries = judge(captions)
        texts = model.encode_texts([query.text for query in queries], [query.lang for query in queries])
        return cls(queries, texts, _encode_images(model, dataset, captions))


def calibrate(
    run: str | Path,
    dataset: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    split: str = "val",
    device: str | None = None,
) -> CalibratedModel:
    """Fit what a score of the model `run` means, on pictures of `split`, and write it with the words that the model knows.

    The pictures must be held out: not those that the model was trained on. out: the model folder to write into, by default
    `run`; another one if that model was trained on all pictures and `run` is its twin without those of the split. The known
    words are those of split train. device: cpu or cuda; a GPU is used when there is one.
    """
    source = find_model(run)
    target = source if out is None else find_model(out)
    config = ModelConfig.read(target)
    opened = Dataset.open(dataset)
    model = Embedder.load(source, device=device)
    if not model.inner_product:
        raise UserError(
            f"the scores of model {model.name} are not cosines, and only cosines are calibrated; use a model with "
            "similarity.name=cosine"
        )
    judged = JudgedSplit.of(model, opened, split)
    calibration = fit_calibration(
        list(try_queries(judged.queries, judged.text_emb, judged.image_emb, size=None)),
        model=model.name,
        dataset=opened.path.resolve().name,
        split=split,
        pictures=len(judged.image_emb),
    )
    learned_from = opened.with_translations() if config.recipe.get("data", {}).get("translated") else opened
    known = KnownWords.of_dataset(learned_from, config.languages)
    known.write(target)
    calibration.write(target)
    return CalibratedModel(target, calibration, len(known))


def _languages(dataset: Dataset, split: str) -> set[str]:
    return {
        lang for row in dataset.rows if row.split == split for lang, texts in row.captions.items() if texts
    }


def _encode_images(model: Embedder, dataset: Dataset, captions: Captions) -> Floats:
    """Encode pictures from stored features if the dataset has them, otherwise from their files."""
    if is_store(dataset.features_dir / model.features.name):
        return StoredImages.open(model, dataset).encode(captions.images)
    return model.encode_images([dataset.images_dir / name for name in captions.images])
