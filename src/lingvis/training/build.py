"""A recipe -> the objects of training."""

from __future__ import annotations

from lingvis.model.build import make_part
from lingvis.model.dual_encoder import DualEncoder
from lingvis.objectives import OBJECTIVES
from lingvis.recipes.schema import Part, Recipe, TermPart
from lingvis.terms import TERMS, Term, TermWeight
from lingvis.training.pretraining import PRETRAINING, Pretraining
from lingvis.training.sampling import SAMPLERS, Sampler, SentenceTable


def build_terms(
    recipe: Recipe, model: DualEncoder, *, languages: int, pictures: int, total_steps: int
) -> dict[str, tuple[TermWeight, Term]]:
    """The terms of the loss with their weights, by name."""
    words = model.text.words
    built = {}
    for name, part in recipe.terms.items():
        options = part.options
        objective = options.pop("objective", None)
        term: Term = make_part(
            TERMS,
            Part(name=part.name, **options),
            objective=None if objective is None else make_part(OBJECTIVES, Part(**objective)),
            word_dim=words.dim,
            word_table=lambda: words.trained_vectors,
            dim=model.similarity.output_dim(model.text.head.dim),
            language_count=languages,
            picture_count=pictures,
            total_steps=total_steps,
        )
        built[name] = (build_weight(part), term)
    return built


def build_weight(part: TermPart) -> TermWeight:
    """The weight of a term over time."""
    return TermWeight(part.weight, (part.rises[0], part.rises[1]) if part.rises else None)


def build_sampler(recipe: Recipe, sentences: SentenceTable) -> Sampler:
    """The sampler, which chooses the sentences of every batch."""
    sampler: Sampler = make_part(
        SAMPLERS, recipe.training.sampling, captions=sentences, batch_size=recipe.training.batch_size
    )
    return sampler


def build_pretraining(recipe: Recipe) -> Pretraining:
    """Pre-training of the words."""
    pretraining: Pretraining = make_part(PRETRAINING, recipe.pretraining)
    return pretraining
