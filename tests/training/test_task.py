from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.errors import UserError
from lingvis.objectives.ranking import hinge_all, hinge_hardest
from lingvis.terms import MaskedCrossLanguage, Matching, Rereading, Step, Views, hide_words
from lingvis.text.bank import TokenBank
from lingvis.training import batches as batches_module
from lingvis.training.loop import watch as watch_module
from lingvis.training.loop.checkpoint import TrainingState, load_checkpoint
from lingvis.training.loop.fit import TrainingPlan, fit
from lingvis.training.loop.optimizer import make_optimizer
from lingvis.training.loop.task import Validation
from lingvis.training.loop.watch import Loss
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.task import RetrievalTask
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

from ..terms.steps import make_step

Ints = NDArray[np.int64]
OPTIONS = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "text.words.dim=8",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "training.batch_size=16",
]
LINGVIS = [*OPTIONS, "image.encoder.hidden=6", "text.words.buckets=200"]
MULE = [
    *OPTIONS,
    "image.encoder.hidden=6",
    "text.words.vector_dim=6",
    "text.head.dim=8",
    "pretraining.epochs=1",
]
SMALR = [
    *MULE,
    "data.vectors=captions",
    "pretraining.tokens=7",
    "pretraining.among=2",
    "text.words.own=4",
    "text.words.vector_dim=4",
]
LATE = Clock(step=1000, epoch=5)


class Prepared:
    """All that a step touches, and the plain sentences beside it."""

    def __init__(self, recipe: str, dataset: Path, out: Path, options: Sequence[str]) -> None:
        self.recipe = load_recipe(recipe, options)
        self.dataset, self.store = open_with_features(dataset, "toy-grid")
        run = prepare(self.recipe, self.dataset, self.store, out, torch.device("cpu"))
        self.embedder, self.task, self.sampler = run.embedder, run.task, run.sampler
        self.task.eval()
        self.captions = self.dataset.captions("train", self.embedder.languages)
        sentences = collect_sentences(self.recipe, self.dataset, self.embedder.languages)
        self.texts, self.langs, self.groups = sentences.texts, sentences.langs, sentences.groups

    def of_language(self, rows: Ints) -> Ints:
        """Captions of one language together, as a sampler gives them."""
        numbers = np.array([self.number(row) for row in rows.tolist()])
        return rows[np.argsort(numbers, kind="stable")]

    def scores(self, rows: Ints, text_emb: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scores and positives of the pictures of captions, one picture and one sentence at a time."""
        images = sorted(
            {int(self.groups[row]) for row in rows if self.groups[row] < len(self.captions.images)}
        )
        found = self.store.index([self.captions.images[image] for image in images])
        image_emb = torch.from_numpy(self.embedder.encode_features([self.store[int(row)] for row in found]))
        shown = [place for place, row in enumerate(rows) if self.groups[row] < len(self.captions.images)]
        if text_emb is None:
            text_emb = self.sentences(rows).text_emb
        owners = self.groups[rows[shown]]
        positives = torch.tensor([[image == owner for owner in owners] for image in images])
        return image_emb @ text_emb[shown].T, positives

    def matching(self, rows: Ints, text_emb: Tensor | None = None) -> float:
        """The recipe's objective over the captions of each language in turn: their mean."""
        term = self.task.terms["matching"]
        assert isinstance(term, Matching) and term.languages_apart and term.over_languages == "mean"
        total = 0.0
        for lang in self.embedder.languages:
            own = [place for place, row in enumerate(rows) if self.langs[row] == lang]
            scores = self.scores(rows[own], None if text_emb is None else text_emb[own])
            total += float(term.objective(*scores, LATE))
        return total / len(self.embedder.languages)

    def sentences(self, rows: Ints) -> Step:
        """What terms shall see, one sentence at a time."""
        emb, average = [], []
        for row in rows.tolist():
            batch = self.bank([row]).batch(np.array([0]))
            words = self.embedder.model.text.words(batch)
            average.append(words.values[0, 1:-1].mean(dim=0))  # without the start and the end
            emb.append(torch.from_numpy(self.embedder.encode_texts([self.texts[row]], self.langs[row])[0]))
        return make_step(
            torch.stack(emb),
            groups=self.groups[rows].tolist(),
            langs=[self.number(row) for row in rows.tolist()],
            word_average=torch.stack(average),
            clock=LATE,
        )

    def number(self, row: int) -> int:
        return (self.embedder.tokenizer.vocabulary.languages or self.embedder.languages).index(
            self.langs[row]
        )

    def bank(self, rows: Sequence[int]) -> TokenBank:
        return TokenBank(
            tokenizer=self.embedder.tokenizer,
            texts=[self.texts[row] for row in rows],
            langs=[self.langs[row] for row in rows],
            languages=self.embedder.languages,
            device=torch.device("cpu"),
        )


@pytest.mark.parametrize(("schedule", "hinge"), [("hardest", hinge_hardest), ("all", hinge_all)])
def test_the_loss_of_a_batch_counts_each_picture_once(
    schedule: str, hinge: Callable[[Tensor, Tensor, float], Tensor], toy_dataset: Path, tmp_path: Path
) -> None:
    """Captions of one picture in one batch: both are its positives, and fill-up pictures are nobody's negatives."""
    made = Prepared(
        "vsepp", toy_dataset, tmp_path, [*OPTIONS, f"terms.matching.objective.schedule={schedule}"]
    )
    rows = np.array([0, 1, 4, 7, 9])
    with torch.no_grad():
        loss = made.task.loss(rows, LATE)
        scores, positives = made.scores(rows)
    assert len(scores) < len(rows)
    assert float(loss.total) == float(loss.matching)
    assert float(loss.matching) == pytest.approx(float(hinge(scores, positives, 0.2)), rel=1e-4)
    assert float(loss.blind) == pytest.approx(
        float(hinge(torch.zeros_like(scores), positives, 0.2)), rel=1e-5
    )
    if schedule == "hardest":
        assert float(loss.blind) == pytest.approx(2 * len(rows) * 0.2, rel=1e-5)


@pytest.mark.parametrize("encoder", ["residual_mlp", "mlp"])
def test_fillers_change_no_statistic_and_no_gradient(
    encoder: str, toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of five pictures filled up to 16, and the same step of five pictures."""
    image = f'image.encoder={{name="{encoder}",dim=8,hidden=6,dropout=0.0}}'
    options = [*OPTIONS, image, "image.augment.p=0.0", "text.augment.p=0.0"]
    rows = np.array([0, 1, 4, 7, 9, 30])
    seen = []
    for multiple in (1, 16):
        monkeypatch.setattr(batches_module, "IMAGE_MULTIPLE", multiple)
        made = Prepared("vse_infinity_region", toy_dataset, tmp_path / str(multiple), options)
        made.task.train()
        assert len(made.task._batches.cut(rows).tensors.images) % 16 == (5 if multiple == 1 else 0)
        loss = made.task.loss(rows, LATE)
        loss.total.backward()  # type: ignore[no-untyped-call]
        gradients = {name: each.grad for name, each in made.task.named_parameters() if each.grad is not None}
        seen.append((loss.total.detach(), gradients, dict(made.task.model.image.named_buffers())))
    assert all(bool(each.any()) for name, each in seen[1][1].items() if name.startswith("model.image.enc"))
    assert float(seen[1][2]["encoder.norm.running_mean"].abs().sum()) > 0
    torch.testing.assert_close(seen[1], seen[0], rtol=1e-6, atol=1e-6)


def one_contrastive(scores: Tensor, positives: Tensor, temperature: float) -> float:
    """InfoNCE in both directions by a loop over the positive pairs; minus infinity is nobody's negative."""
    costs = []
    for i, t in positives.nonzero().tolist():
        for others in (scores[i][~positives[i]], scores[:, t][~positives[:, t]]):
            negatives = (others[others > -torch.inf] / temperature).exp().sum()
            own = (scores[i, t] / temperature).exp()
            costs.append(-(own / (own + negatives)).log())
    return float(torch.stack(costs).mean())


def test_sentences_alone_change_the_terms_and_not_the_matching(rich_dataset: Path, tmp_path: Path) -> None:
    made = Prepared("lingvis_frozen", rich_dataset, tmp_path, LINGVIS)
    pictures = len(made.captions.images)
    shown = made.of_language(np.flatnonzero(made.groups < pictures)[:14])
    alone = np.flatnonzero(made.groups >= pictures)[:9]
    both = made.of_language(np.concatenate([shown, alone]))
    assert {made.langs[row] for row in alone} == {"en", "de"}
    with torch.no_grad():
        without, joined = made.task.loss(shown, LATE), made.task.loss(both, LATE)
        assert float(joined.matching) == pytest.approx(float(without.matching), rel=1e-5)
        assert float(joined.blind) == pytest.approx(float(without.blind), rel=1e-5)
        assert float(joined.matching) == pytest.approx(one_contrastive(*made.scores(both), 0.05), rel=1e-3)
        for rows, loss in ((shown, without), (both, joined)):
            seen = made.sentences(rows)
            together = seen.groups.unsqueeze(1) == seen.groups
            positives = together.triu(diagonal=1)
            cosine = (seen.text_emb @ seen.text_emb.T).masked_fill(~positives & together, -torch.inf)
            term = one_contrastive(cosine, positives, 0.05)
            assert float(loss.total - loss.matching) == pytest.approx(0.5 * term, rel=1e-3)
    assert float(joined.total) != pytest.approx(float(without.total), rel=1e-3)


HARDEST = [
    "terms.matching.objective.name=ranking",
    "terms.matching.objective.margin=0.2",
    "terms.matching.objective.schedule=hardest",
]


def of_one_language(made: Prepared, rows: Ints, lang: str, objective: Callable[..., float]) -> list[float]:
    """The loss of the captions of one language as if there were no other, and that of equal scores."""
    own = np.array([row for row in rows.tolist() if made.langs[row] == lang])
    scores, positives = made.scores(own)
    return [objective(scores, positives), objective(torch.zeros_like(scores), positives)]


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        ([], lambda scores, positives: one_contrastive(scores, positives, 0.05)),
        (HARDEST, lambda scores, positives: float(hinge_hardest(scores, positives, 0.2))),
    ],
)
def test_languages_apart_are_the_sum_of_their_losses(
    options: list[str], objective: Callable[..., float], rich_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared(
        "lingvis_frozen",
        rich_dataset,
        tmp_path / "apart",
        [*LINGVIS, *options, "terms.matching.languages_apart=true"],
    )
    joint = Prepared("lingvis_frozen", rich_dataset, tmp_path / "joint", [*LINGVIS, *options])
    pictures = len(made.captions.images)
    alone = np.flatnonzero(made.groups >= pictures)[:9]
    # The first pictures, of which every third has no German caption here, and sentences without pictures.
    rows = np.flatnonzero(made.groups < pictures)[:30]
    rows = rows[[made.langs[row] == "en" or made.groups[row] % 3 > 0 for row in rows]]
    rows = made.of_language(np.concatenate([rows, alone]))
    shown = {(int(made.groups[row]), made.langs[row]) for row in rows if made.groups[row] < pictures}
    assert {group for group, lang in shown if lang == "de"} < {group for group, lang in shown if lang == "en"}
    with torch.no_grad():
        loss, together = made.task.loss(rows, LATE), joint.task.loss(rows, LATE)
        by_language = [of_one_language(made, rows, lang, objective) for lang in ("en", "de")]
        everything = objective(*made.scores(rows))
    assert min(each[0] for each in by_language) > 0
    assert float(loss.matching) == pytest.approx(sum(each[0] for each in by_language), rel=1e-4)
    assert float(loss.blind) == pytest.approx(sum(each[1] for each in by_language), rel=1e-4)
    assert float(together.matching) == pytest.approx(everything, rel=1e-3)
    assert float(loss.matching) != pytest.approx(everything, rel=1e-3)
    # Terms between sentences are the same either way.
    assert float(loss.total - loss.matching) == pytest.approx(
        float(together.total - together.matching), rel=1e-4
    )


@pytest.mark.parametrize("options", [[], HARDEST])
def test_a_language_without_pictures_does_not_count_when_languages_are_apart(
    options: list[str], rich_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared(
        "lingvis_frozen", rich_dataset, tmp_path, [*LINGVIS, *options, "terms.matching.languages_apart=true"]
    )
    is_shown, german = made.groups < len(made.captions.images), np.array(made.langs) == "de"
    english = np.flatnonzero(is_shown & ~german)[:9]
    both = made.of_language(np.concatenate([english, np.flatnonzero(~is_shown & german)[:4]]))
    loss, without = made.task.loss(both, LATE), made.task.loss(english, LATE)
    assert float(loss.matching.detach()) == pytest.approx(float(without.matching.detach()), rel=1e-4)
    assert float(loss.blind) == pytest.approx(float(without.blind), rel=1e-4)
    loss.total.backward()  # type: ignore[no-untyped-call]
    for parameter in made.task.parameters():
        assert parameter.grad is not None and bool(torch.isfinite(parameter.grad).all())


@pytest.mark.parametrize(
    "objective",
    [
        ["terms.matching.objective.learned=true"],
        HARDEST,
        [
            "terms.matching.objective.name=ranking",
            "terms.matching.objective.margin=0.2",
            "terms.matching.objective.schedule=all",
        ],
        [
            "terms.matching.objective.name=top_triplet",
            "terms.matching.objective.margin=0.2",
            "terms.matching.objective.hardest=30",
        ],
    ],
)
def test_gradients_stay_finite_beside_sentences_alone_and_fill_up_pictures(
    objective: list[str], rich_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared("lingvis_frozen", rich_dataset, tmp_path, [*LINGVIS, *objective, "text.augment.p=0.9"])
    made.task.train()
    torch.manual_seed(0)
    for rows in made.sampler.epoch(0, 0)[:2]:
        assert (made.groups[rows] >= len(made.captions.images)).any()
        made.task.loss(rows, LATE).total.backward()  # type: ignore[no-untyped-call]
    grads = [parameter.grad for parameter in made.task.parameters()]
    assert all(grad is not None and bool(torch.isfinite(grad).all()) for grad in grads)
    assert ("terms.matching.objective.position" in made.task.trained) == (
        "terms.matching.objective.learned=true" in objective
    )


def test_the_total_is_the_matching_and_every_term_by_its_weight(rich_dataset: Path, tmp_path: Path) -> None:
    weights = {"neighbours": 0.3, "across": 0.5, "across_words": 2.0, "adversary": 0.7, "anchor": 0.9}
    options = [f"terms.{name}.weight={weight}" for name, weight in weights.items()]
    options += ["terms.across.rises=[]", "terms.across_words.rises=[]"]
    made = Prepared("mule", rich_dataset, tmp_path, [*MULE, *options])
    words = made.embedder.model.text.words
    assert words.trained_vectors is not None
    words.trained_vectors.data += 0.1
    rows = made.of_language(np.arange(17))
    with torch.no_grad():
        loss = made.task.loss(rows, LATE)
        seen = made.sentences(rows)
        terms = {name: float(term(seen)) for name, term in made.task.terms.items() if name != "matching"}
        matching = made.matching(rows)
    assert set(terms) == set(weights)
    assert all(value > 0 for value in terms.values())
    assert float(loss.matching) == pytest.approx(matching, rel=1e-3)
    expected = matching + sum(weights[name] * value for name, value in terms.items())
    assert float(loss.total) == pytest.approx(expected, rel=1e-3)
    parts = {name: float(value) for name, value in loss.parts.items()}
    assert parts == pytest.approx(
        {"matching": matching, **{name: weights[name] * value for name, value in terms.items()}}, rel=1e-3
    )


def test_a_term_without_weight_is_left_out(rich_dataset: Path, tmp_path: Path) -> None:
    names = ("neighbours", "across", "across_words", "adversary", "anchor")
    made = Prepared("mule", rich_dataset, tmp_path, [*MULE, *(f"terms.{name}.weight=0" for name in names)])
    with torch.no_grad():
        loss = made.task.loss(np.arange(12), LATE)
    assert float(loss.total) == float(loss.matching)


def test_a_recipe_whose_captions_all_hide_words_trains_and_is_not_watched(
    toy_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared("vsepp", toy_dataset, tmp_path, [*OPTIONS, "terms.matching.hidden=0.3"])
    loss = made.task.loss(np.arange(9), LATE)
    assert float(loss.total.detach()) > 0
    assert loss.watched == "" and bool(loss.blind.isnan())


AUGMENTED = [
    "text.augment.name=words",
    *(f"text.augment.{key}" for key in ("p=0.6", "masked=0.4", "replaced=0.3")),
]


def masked_task(
    p: float, rich_dataset: Path, tmp_path: Path, *more: str
) -> tuple[Prepared, MaskedCrossLanguage]:
    """SMALR with the masked term and no other."""
    names = ("neighbours", "across", "across_words", "adversary")
    others = [f"terms.{name}.weight=0" for name in names]
    hidden = [f"terms.masked.p={p}", f"terms.matching_masked.hidden={p}"]
    options = [*SMALR, *others, "terms.masked.weight=0.4", *hidden, *more]
    made = Prepared("smalr", rich_dataset, tmp_path, options)
    term = made.task.terms["masked"]
    assert isinstance(term, MaskedCrossLanguage)
    return made, term


@pytest.mark.parametrize(("p", "augment"), [(0.0, []), (0.7, []), (0.7, AUGMENTED)])
def test_masked_sentences_enter_the_objective_and_restore_each_other(
    p: float, augment: list[str], rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "LENGTH_MULTIPLE", 1)  # random numbers are drawn for padding, too
    made, term = masked_task(p, rich_dataset, tmp_path, *augment)
    rows = made.of_language(np.arange(20))
    model, vocabulary = made.embedder.model, made.embedder.tokenizer.vocabulary
    special = torch.tensor(vocabulary.special)
    model.text.augment.train()
    with torch.no_grad():
        torch.manual_seed(7)
        loss = made.task.loss(rows, LATE)
        plain = made.bank(rows.tolist()).batch(np.arange(len(rows)))
        torch.manual_seed(7)
        batch = model.text.augment(plain)
        assert (batch is plain) == (not augment)
        hidden = hide_words(batch.ids, batch.mask, special, p)
        assert bool(hidden.any()) == (p > 0)
        masked_batch = replace(batch, ids=torch.where(hidden, vocabulary.mask, batch.ids))
        is_word = batch.mask & ~torch.isin(batch.ids, special)

        def views(kept: Tensor, masked: bool) -> tuple[Tensor, Views]:
            emb, reading = model.encode_with_states(masked_batch if masked else batch)
            # Of a sentence whose words are all masked by the augmentation everything stays.
            places = [kept[n] if is_word[n].any() else batch.mask[n] for n in range(len(rows))]
            word_means = [reading.words.values[n][each].mean(0) for n, each in enumerate(places)]
            state_means = [reading.states.values[n][each].mean(0) for n, each in enumerate(places)]
            sentence_average = model.text.head(torch.stack(state_means), batch.runs)
            return emb, Views(reading.words, torch.stack(word_means), sentence_average, reading.sentence)

        emb, whole = views(is_word, False)
        hidden_emb, masked = views(is_word & ~hidden, True)
        sentences = made.sentences(rows)
        reading = Rereading(hidden_emb, whole, masked)
        aligned = float(term(replace(sentences, reread=lambda p: reading)))
        matching, again = made.matching(rows, emb), made.matching(rows, hidden_emb)
    assert float(loss.matching) == pytest.approx(matching, rel=1e-3)
    assert (again == pytest.approx(matching, rel=1e-5)) == (p == 0)
    assert aligned > 0
    assert float(loss.total) == pytest.approx(matching + again + 0.4 * aligned, rel=1e-3)


class Breaking(RetrievalTask):
    """Gives a gradient that is not a number at one step, as an overflow would."""

    BROKEN_STEP = 5

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        loss = super().loss(rows, clock)
        if clock.step != self.BROKEN_STEP:
            return loss
        broken = {name: value * torch.nan for name, value in loss.parts.items()}
        return Loss(broken, watched=loss.watched, matching=loss.matching, blind=loss.blind)


def run(
    made: Prepared,
    optimizer: torch.optim.Optimizer,
    folder: Path,
    *,
    lr: float,
    epochs: int,
    patience: int = 0,
    scores: Sequence[float] = (),
    checkpoint_seconds: float = 1e9,
) -> TrainingState:
    """scores: those of validation, epoch by epoch; always the same by default."""
    left = iter(scores or [1.0] * epochs)
    return fit(
        task=made.task,
        sampler=made.sampler,
        optimizer=optimizer,
        schedule=lambda step, epoch: lr,
        plan=TrainingPlan(
            epochs=epochs, patience=patience, clip=2.0, seed=0, checkpoint_seconds=checkpoint_seconds
        ),
        state=TrainingState("me"),
        validate=lambda: Validation(next(left), {"mR": 6.0}),
        folder=folder,
    )


def adam(task: RetrievalTask, lr: float = 1e-3, **factors: float) -> torch.optim.Optimizer:
    named = {name.replace("__", "."): factor for name, factor in factors.items()}
    return make_optimizer(task.trained, name="adam", lr=lr, weight_decay=0.0, factors=named)


def test_factors_reach_terms_and_the_objective(rich_dataset: Path, tmp_path: Path) -> None:
    made = Prepared("mule", rich_dataset, tmp_path, [*MULE, "terms.adversary.weight=1.0"])
    optimizer = adam(made.task, terms__adversary=0.0, text__words=0.5, image=0.0)
    before = {name: value.clone() for name, value in made.task.trained.items()}
    run(made, optimizer, tmp_path, lr=1e-2, epochs=1)
    moved = {name for name, value in made.task.trained.items() if not torch.equal(value, before[name])}
    held = {name for name in before if name.startswith(("terms.adversary", "image."))}
    assert moved == set(before) - held
    with pytest.raises(UserError, match=r"names terms\.wings.* terms\.adversary, text\."):
        adam(made.task, terms__wings=1.0)


@pytest.mark.parametrize(("patience", "epochs", "best"), [(0, 6, 6), (2, 3, 1), (3, 6, 6)])
def test_patience_ends_training_that_does_not_become_better(
    patience: int, epochs: int, best: int, toy_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared("vsepp", toy_dataset, tmp_path, OPTIONS)
    scores = [5.0, 4.0, 5.0, 6.0, 5.0, 7.0]
    state = run(made, adam(made.task), tmp_path, lr=1e-3, epochs=6, patience=patience, scores=scores)
    assert (state.epoch, state.best_epoch) == (epochs, best)
    assert state.step == epochs * made.sampler.batch_count()


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(
    toy_dataset: Path, tmp_path: Path
) -> None:
    made = Prepared("vsepp", toy_dataset, tmp_path, OPTIONS)
    made.task.__class__ = Breaking
    optimizer = adam(made.task)
    with pytest.raises(UserError, match="the loss became nan at step 6; a checkpoint from before it"):
        run(made, optimizer, tmp_path, lr=1e-3, epochs=9, checkpoint_seconds=0)
    state = load_checkpoint(tmp_path, "me", made.task, optimizer)
    assert state.step == Breaking.BROKEN_STEP
    assert all(torch.isfinite(tensor).all() for tensor in made.embedder.model.state_dict().values())


def test_a_run_that_improves_on_the_plateau_goes_on(
    toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of every step is taken for a blind model's; validations are better and better, then are not."""
    monkeypatch.setattr(watch_module, "COLLAPSE_TOLERANCE", 1e9)
    made = Prepared("vsepp", toy_dataset, tmp_path, OPTIONS)
    steps = made.sampler.batch_count()
    monkeypatch.setattr(watch_module, "COLLAPSE_STEPS", steps + 1)
    with pytest.raises(UserError, match=f"up to step {4 * steps + 1},"):
        run(made, adam(made.task), tmp_path, lr=1e-3, epochs=6, scores=[1.0, 2.0, 3.0, 3.0, 3.0, 3.0])


def test_a_model_that_cannot_learn_is_told_to_have_collapsed(toy_dataset: Path, tmp_path: Path) -> None:
    """Pictures that all look the same leave the loss at that of a blind model: 2 x batch x margin."""
    made = Prepared("vsepp", toy_dataset, tmp_path, OPTIONS)
    for part in (made.embedder.model.image.encoder, made.embedder.model.text.words):
        for parameter in part.parameters():
            torch.nn.init.zeros_(parameter)
    optimizer = adam(made.task, 1e-9, image=0.0, text__words=0.0)
    with pytest.raises(UserError, match=r"collapsed: term matching has stuck at 6\.\d"):
        run(made, optimizer, tmp_path, lr=1e-9, epochs=200)
