"""What passes between stages, held by every registered part: a part that is new has to be added here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import lingvis.training.build  # noqa: F401  (registers the parts of all stages)
from lingvis.image.augment import IMAGE_AUGMENTS, ImageAugment
from lingvis.image.encoders import IMAGE_ENCODERS, ImageEncoder
from lingvis.objectives import OBJECTIVES, Objective, TopTriplet
from lingvis.pooling import POOLERS, Pooler
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.similarity import SIMILARITIES, Similarity
from lingvis.terms import TERMS, ClassStep, Origin, Rereading, Step, Views, WordAnchor
from lingvis.terms.class_names import ClassTerm
from lingvis.text.augment import TEXT_AUGMENTS, TextAugment
from lingvis.text.bank import TokenBank
from lingvis.text.encoders import TEXT_ENCODERS, TextEncoder
from lingvis.text.heads import TEXT_HEADS, TextHead
from lingvis.text.tokenizers.base import TOKENIZERS, Tokenizer
from lingvis.text.translators import TRANSLATORS
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.latent import Assignment
from lingvis.training.sampling import SAMPLERS, SentenceTable
from lingvis.types import Clock, Tokens

from .terms.steps import make_step

TEXTS = ["a red dog", "ein roter Hund", "... !", "the dog"]
LANGS = ["en", "de", "de", "en"]
SIZES = {"input_dim": 4, "dim": 3}
WORD_DIM = 6

IMAGE_OPTIONS: dict[str, dict[str, Any]] = {
    "residual_mlp": {"hidden": 2},
    "mlp": {"hidden": 2, "dropout": 0.0},
}
TEXT_OPTIONS: dict[str, dict[str, Any]] = {
    "gru": {"bidirectional": True},
    "gru_per_language": {"bidirectional": True, "language_count": 2},
    "convolutions": {"hidden": 2, "blocks": 2},
}
OBJECTIVE_OPTIONS: dict[str, dict[str, Any]] = {
    "ranking": {"margin": 0.2, "schedule": "hardest"},
    "top_triplet": {"margin": 0.05, "hardest": 10},
    "contrastive": {"temperature": 0.07},
}
POOLING_OPTIONS: dict[str, dict[str, Any]] = {
    "attention": {"dim": 4, "heads": 3, "hidden": 2},
    "memory": {"dim": 4, "steps": 2, "hidden": 2, "project": True},
}
HEAD_OPTIONS: dict[str, dict[str, Any]] = {
    "none": {"input_dim": 3},
    "linear": SIZES,
    "linear_per_language": {"language_count": 2, **SIZES},
}
TOKENIZER_OPTIONS: dict[str, dict[str, Any]] = {"words": {"min_count": 1}, "language_words": {"min_count": 1}}
# Word parts with the tokenizer that they work on; "words" is the vocabulary of all languages together.
WORD_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "embedding": ("words", {"dim": WORD_DIM}),
    "pretrained": ("language_words", {"dim": WORD_DIM}),
    "liwe": ("characters", {"dim": WORD_DIM, "layers": [5]}),
    "char_gru": ("characters", {"dim": WORD_DIM}),
    "ngrams": ("characters", {"dim": WORD_DIM, "buckets": 50}),
    "universal": ("language_words", {"dim": WORD_DIM, "vector_dim": 4}),
    "hybrid": ("language_words", {"dim": WORD_DIM, "vector_dim": 4, "own": 1}),
    "mapped": ("language_words", {"vector_dim": WORD_DIM, "map": "none"}),
    "transformer": ("transformer", {}),
}


def names(registry: Registry[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", registry.names())


def some_tokens() -> Tokens:
    torch.manual_seed(0)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    return Tokens(torch.randn(2, 3, 4), mask, ((1, 1), (0, 1)))


@pytest.mark.parametrize(
    "registry",
    [
        IMAGE_ENCODERS,
        TEXT_ENCODERS,
        POOLERS,
        SIMILARITIES,
        OBJECTIVES,
        TERMS,
        TEXT_HEADS,
        TOKENIZERS,
        WORDS,
        SAMPLERS,
        TRANSLATORS,
    ],
    ids=lambda registry: registry.kind,
)
def test_every_part_says_what_it_is(registry: Registry[Any]) -> None:
    assert registry.names()
    assert all(entry.summary for entry in registry)


@pytest.mark.parametrize(
    ("registry", "base"),
    [
        (IMAGE_AUGMENTS, ImageAugment),
        (IMAGE_ENCODERS, ImageEncoder),
        (POOLERS, Pooler),
        (TOKENIZERS, Tokenizer),
        (TEXT_AUGMENTS, TextAugment),
        (WORDS, WordPart),
        (TEXT_ENCODERS, TextEncoder),
        (TEXT_HEADS, TextHead),
        (SIMILARITIES, Similarity),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_every_part_of_a_model_has_the_base_of_its_kind(registry: Registry[Any], base: type) -> None:
    assert issubclass(base, RecipePart)
    assert all(issubclass(entry.factory, base) for entry in registry)
    with pytest.raises(TypeError, match="abstract"):
        base()


@pytest.mark.parametrize(
    ("registry", "options", "name"),
    [
        *((IMAGE_ENCODERS, IMAGE_OPTIONS, name) for name in IMAGE_ENCODERS.names()),
        *((TEXT_ENCODERS, TEXT_OPTIONS, name) for name in TEXT_ENCODERS.names()),
    ],
    ids=lambda value: getattr(value, "kind", value if isinstance(value, str) else ""),
)
def test_encoders_keep_rows_and_places(registry: Registry[Any], options: dict[str, Any], name: str) -> None:
    sizes = {"input_dim": 4} if name == "none" else SIZES
    encoder: ImageEncoder | TextEncoder = registry.get(name)(**sizes, **options.get(name, {}))
    tokens = some_tokens()
    encoded = encoder(tokens)
    assert encoded.values.shape == (2, 3, encoder.dim) == (2, 3, sizes.get("dim", 4))
    assert torch.equal(encoded.mask, tokens.mask)
    all_learn(encoder, encoded.values[encoded.mask].square().sum())


@names(POOLERS)
def test_poolers_give_one_vector_per_row(name: str) -> None:
    pooler = POOLERS.get(name)(**POOLING_OPTIONS.get(name, {}))
    pooled = pooler(some_tokens())
    assert pooled.shape == (2, pooler.output_dim(4))
    assert pooler.output_dim(4) == (12 if name in POOLING_OPTIONS else 4)


@names(TEXT_HEADS)
def test_heads_give_one_vector_per_sentence(name: str) -> None:
    head = TEXT_HEADS.get(name)(**HEAD_OPTIONS[name])
    projected = head(torch.randn(2, HEAD_OPTIONS[name]["input_dim"]), ((1, 1), (0, 1)))
    assert projected.shape == (2, 3)
    assert head.dim == 3
    assert head.per_language == (name == "linear_per_language")
    all_learn(head, projected.square().sum())


@names(SIMILARITIES)
def test_similarities_score_every_pair(name: str) -> None:
    similarity = SIMILARITIES.get(name)(**({"input_dim": 4} if name == "cosine" else {}))
    images, texts = torch.randn(2, 4), torch.randn(3, 4)
    sides: tuple[Any, Any] = images, texts
    if not similarity.pooled:
        sides = some_tokens(), Tokens(texts.unsqueeze(1), torch.ones(3, 1, dtype=torch.bool))
    scores = similarity(similarity.prepare_images(sides[0]), similarity.prepare_texts(sides[1]))
    assert scores.shape == (2, 3)
    assert torch.isfinite(scores).all()


@names(OBJECTIVES)
def test_objectives_reward_right_pairs_and_pass_over_what_takes_no_part(name: str) -> None:
    objective = OBJECTIVES.get(name)(**OBJECTIVE_OPTIONS.get(name, {}))
    assert isinstance(objective, Objective)
    positives = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=torch.bool)
    right = objective(positives.float(), positives)
    wrong = objective((~positives).float(), positives)
    assert right.shape == wrong.shape == ()
    assert float(right) < float(wrong)
    # A picture that fills up the batch: a row of minus infinity changes nothing and breaks no gradient.
    filled = torch.cat([(~positives).float(), torch.full((1, 4), -torch.inf)]).requires_grad_()
    more = objective(filled, torch.cat([positives, torch.zeros(1, 4, dtype=torch.bool)]))
    torch.testing.assert_close(more, wrong)
    (gradient,) = torch.autograd.grad(more, filled)
    assert torch.isfinite(gradient).all()
    assert gradient[:3].abs().sum() > 0
    assert gradient[3].abs().sum() == 0


@names(OBJECTIVES)
def test_matrices_with_leading_dimensions_give_a_number_each(name: str) -> None:
    objective = OBJECTIVES.get(name)(**OBJECTIVE_OPTIONS.get(name, {}))
    generator = torch.Generator().manual_seed(0)
    scores, fate = torch.rand(2, 3, 4, 6, generator=generator), torch.rand(2, 3, 4, 6, generator=generator)
    positives, scores = fate < 0.3, scores.masked_fill(fate > 0.8, -torch.inf)
    clock = Clock(step=200)
    values = objective(scores, positives, clock)
    assert values.shape == (2, 3)
    for a, b in np.ndindex(2, 3):
        torch.testing.assert_close(values[a, b], objective(scores[a, b], positives[a, b], clock))


def make_whole_step() -> tuple[Step, list[Tensor]]:
    """Two pictures with a human caption in two languages each, and two with pseudo captions and teachers' scores."""
    torch.manual_seed(0)
    image_emb = nn.functional.normalize(torch.randn(4, 3), dim=-1).requires_grad_()
    text_emb = nn.functional.normalize(torch.randn(6, 3), dim=-1).requires_grad_()
    average = torch.randn(6, WORD_DIM, requires_grad=True)
    step = make_step(
        text_emb,
        groups=[0, 1, 0, 1, 2, 3],
        langs=[0, 0, 1, 1, 0, 0],
        origin=[Origin.HUMAN] * 4 + [Origin.PSEUDO] * 2,
        image_emb=image_emb,
        word_average=average,
        teacher_scores=torch.randn(4, 6),
        targets=nn.functional.normalize(torch.randn(6, 3), dim=-1),
    )
    return step, [image_emb, text_emb, average]


def make_class_step() -> tuple[Step, list[Tensor]]:
    """Two pictures, and three names of two classes; the third name is that of both."""
    torch.manual_seed(0)
    class_emb, text_emb, scores = torch.randn(2, 3), torch.randn(4, 3), torch.randn(2, 5)
    leaves = [each.requires_grad_() for each in (class_emb, text_emb, scores)]
    step = make_step(
        text_emb, groups=[0, 8, 9, 9], origin=[Origin.HUMAN] + [Origin.CLASS] * 3, image_emb=torch.randn(2, 3)
    )
    positives = torch.tensor([[True, False, False], [False, True, True]])
    named = positives | torch.tensor([False, False, True])
    classes = ClassStep(class_emb, positives, named, scores, known=torch.randn(2, 5))
    return replace(step, classes=classes), leaves


def make_hidden_step() -> tuple[Step, list[Tensor]]:
    """The same human captions, whole and with words hidden."""
    torch.manual_seed(0)
    leaves, views = [], []
    mask = torch.tensor([[True, True], [True, False], [True, True], [True, False]])
    for _ in range(2):
        words = torch.randn(4, 2, WORD_DIM, requires_grad=True)
        word_average = torch.randn(4, WORD_DIM, requires_grad=True)
        averages = [torch.randn(4, 3, requires_grad=True) for _ in range(2)]
        views.append(Views(Tokens(words, mask), word_average, *averages))
        leaves += [words, word_average, *averages]
    reading = Rereading(torch.zeros(4, 3), *views)
    step = make_step(torch.zeros(4, 3), groups=[0, 1, 0, 1], langs=[0, 0, 1, 1], reread=lambda p: reading)
    return step, leaves


WORD_TABLE: Tensor = nn.Parameter(torch.ones(5, 2))
TERM_OPTIONS: dict[str, dict[str, Any]] = {
    "matching": {"objective": TopTriplet(margin=5.0, hardest=2)},
    "pairs": {"objective": TopTriplet(margin=5.0, hardest=2), "on": "sentence", "languages": "different"},
    "language_adversary": {"word_dim": WORD_DIM, "language_count": 2, "total_steps": 10},
    "masked_pairs": {"word_dim": WORD_DIM, "dim": 3, "language_count": 2},
    "distillation": {"temperature": 0.1},
    "class_names": {"objective": TopTriplet(margin=5.0, hardest=2)},
    "class_scores": {"temperature": 2.0},
    "word_anchor": {"word_table": lambda: WORD_TABLE},
    "teacher_matching": {"objective": TopTriplet(margin=5.0, hardest=2)},
    "instances": {"dim": 3, "picture_count": 4},
    "domains": {
        "dim": 3,
        "total_steps": 10,
        "intra": [0.2, 0.1],
        "cross": [0.5, 0.5],
        "transitive": [0.3, 0.3],
    },
}


@names(TERMS)
def test_terms_are_a_number_that_the_model_learns_from(name: str) -> None:
    term = TERMS.get(name)(**TERM_OPTIONS.get(name, {}))
    if isinstance(term, WordAnchor):
        step, leaves = make_whole_step()[0], [WORD_TABLE]
        term.start.zero_()
    elif isinstance(term, ClassTerm):
        step, leaves = make_class_step()
    else:
        step, leaves = make_hidden_step() if term.rereads else make_whole_step()
    cost = term(step)
    assert cost.shape == ()
    assert float(cost.detach()) > 0
    gradients = torch.autograd.grad(cost, leaves, allow_unused=True, retain_graph=True)
    assert any(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)
    assert all(gradient is None or torch.isfinite(gradient).all() for gradient in gradients)
    all_learn(term, cost)


@names(SAMPLERS)
def test_samplers_follow_the_seed_and_keep_languages_together(name: str) -> None:
    generator = np.random.default_rng(0)
    langs = generator.integers(0, 3, 60)
    groups = np.arange(60) // 5
    origin = np.where(groups < 10, Origin.HUMAN, Origin.TEXT_ONLY).astype(np.int8)
    table = SentenceTable(groups, langs, generator.integers(3, 9, 60), origin)
    sampler = SAMPLERS.get(name)(captions=table, batch_size=4)  # type: ignore[call-arg]
    epoch = sampler.epoch(1, 2)
    assert len(epoch) == sampler.batch_count()
    for batch in epoch:
        assert (np.diff(langs[batch]) >= 0).all()
        # Sentences without pictures only where asked for.
        assert sampler.draws_text_only({}) or (origin[batch] == Origin.HUMAN).all()
    seen = np.unique(table.groups[np.concatenate(epoch)])
    assert seen.tolist() == list(range(12 if sampler.draws_text_only({}) else 10))
    again, later, other = sampler.epoch(1, 2), sampler.epoch(1, 3), sampler.epoch(2, 2)
    assert all(map(np.array_equal, epoch, again))
    for different in (later, other):
        assert not all(map(np.array_equal, epoch, different))


def make_tokenizer(name: str, tiny_bert: Path) -> Tokenizer:
    options = {"model": str(tiny_bert)} if name == "transformer" else TOKENIZER_OPTIONS.get(name, {})
    return TOKENIZERS.get(name)(**options)


@names(TOKENIZERS)
def test_tokenizers_read_the_same_after_saving(name: str, tiny_bert: Path, tmp_path: Path) -> None:
    tokenizer, again = make_tokenizer(name, tiny_bert), make_tokenizer(name, tiny_bert)
    tokenizer.fit(TEXTS, LANGS)
    ids = tokenizer(TEXTS, LANGS)
    tokenizer.save(tmp_path)
    again.load(tmp_path)
    assert again.vocabulary == tokenizer.vocabulary
    assert {tokenizer.vocabulary.pad, tokenizer.vocabulary.mask} <= set(tokenizer.vocabulary.special)
    for row, repeated in zip(ids, again(TEXTS, LANGS), strict=True):
        assert row.dtype == np.int64
        assert row.tolist() == repeated.tolist()
        assert len(row) and tokenizer.vocabulary.pad not in row
        assert not tokenizer.vocabulary.size or row.max() < tokenizer.vocabulary.size
    assert tokenizer.spells == (name == "characters") == bool(tokenizer.vocabulary.letters)
    if not tokenizer.spells:
        with pytest.raises(NotImplementedError, match="does not spell"):
            tokenizer.spelling(ids[0])


@names(WORDS)
def test_words_give_every_token_a_vector_and_pass_languages_along(name: str, tiny_bert: Path) -> None:
    kind, options = WORD_OPTIONS[name]
    tokenizer = make_tokenizer(kind, tiny_bert)
    tokenizer.fit(TEXTS, LANGS)
    options = {"vocabulary": tokenizer.vocabulary, **options}
    if name == "transformer":
        options["model"] = str(tiny_bert)
    if name == "hybrid":
        words = tokenizer.vocabulary.size
        options["assignment"] = Assignment(torch.arange(words) % 2, torch.randn(2, WORD_DIM))
    torch.manual_seed(0)
    part = WORDS.get(name)(**options).eval()
    bank = TokenBank(
        tokenizer=tokenizer, texts=TEXTS, langs=LANGS, languages=["en", "de"], device=torch.device("cpu")
    )
    batch = bank.batch(np.array([1, 2, 0]))
    tokens = part(batch)
    assert tokens.values.shape == (*batch.ids.shape, part.dim)
    assert torch.isfinite(tokens.values).all()
    assert torch.equal(tokens.mask, batch.mask)
    assert tokens.runs == batch.runs == ((1, 2), (0, 1))
    assert part.per_language == (name in ("universal", "hybrid"))
    assert (part.table_values > 0) == part.per_language
    with torch.inference_mode():  # what a deployed model looks up is what training computes
        torch.testing.assert_close(part(batch).values, tokens.values)
    gradients = torch.autograd.grad(tokens.values.square().sum(), list(part.parameters()), allow_unused=True)
    assert any(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)


def all_learn(part: nn.Module, cost: Tensor) -> None:
    """Every weight has a gradient, and it is a number."""
    for name, parameter in part.named_parameters():
        (gradient,) = torch.autograd.grad(cost, parameter, retain_graph=True)
        assert torch.isfinite(gradient).all(), name
