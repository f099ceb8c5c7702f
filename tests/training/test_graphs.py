"""Recorded steps: on a GPU the recordings themselves, anywhere what a recording depends on and that nothing waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lingvis.layers import recurrent, valid
from lingvis.terms import Origin
from lingvis.text import bank as bank_module
from lingvis.training import batches as batches_module
from lingvis.training import task as task_module
from lingvis.training.loop import fit as loop
from lingvis.training.loop import recorded as recorded_module
from lingvis.training.loop.log import read_log
from lingvis.training.loop.optimizer import make_optimizer
from lingvis.training.loop.recorded import RecordedClock, RecordedSteps, ScheduledValues
from lingvis.training.loop.step import TrainingStep, make_step
from lingvis.training.loop.task import RecordableLoss
from lingvis.training.loop.watch import Loss
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features, train
from lingvis.training.sampling import Sampler
from lingvis.training.task import RetrievalTask
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

SMALL = [
    "data.features=toy-grid",
    "data.languages=[]",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "text.words.dim=12",
    "training.batch_size=12",
    "training.epochs=4",
    "training.precision=float32",
]
HIDDEN = "image.encoder.hidden=8"
LANGUAGE_WORDS = [HIDDEN, "text.head.dim=16", "text.words.vector_dim=6"]
LATENT = [
    "data.vectors=captions",
    "text.words.vector_dim=4",
    "pretraining.tokens=9",
    "pretraining.among=3",
    "pretraining.epochs=1",
]
OWN = {
    "a3vse": [
        'data.languages=["en"]',
        "data.images=0.5",
        "image.pooling.hidden=6",
        "text.pooling.hidden=6",
        "terms.domains.hidden=6",
    ],
    "la": [HIDDEN, "text.head.dim=16", *LATENT],
    "lingvis_frozen": [HIDDEN, "text.words.buckets=300", "training.sampling.passes=2"],
    "mule": [*LANGUAGE_WORDS, "pretraining.epochs=1"],
    "par_embn": LANGUAGE_WORDS,
    "smalr": [HIDDEN, "text.head.dim=16", "text.words.own=6", *LATENT],
    "s_liwe": ["text.words.letter_dim=4", "text.words.layers=[8, 8]", "training.sampling.passes=2"],
    "vse_infinity_region": [HIDDEN],
    # Layers of languages over a vocabulary that all languages share.
    "vsepp": ["text.encoder.name=gru_per_language", "text.encoder.dim=16", "text.encoder.bidirectional=true"],
}
ON_GPU = ("a3vse", "lingvis_frozen", "mule", "s_liwe", "smalr", "vse_infinity_region")
STEPS = 12
NEIGHBOURS = [
    'terms.neighbours={name="pairs",weight=1.0,on="sentence",languages="same",objective={name="contrastive",temperature=0.1}}'
]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need an NVIDIA GPU")


def prepared(
    recipe: str, dataset: Path, out: Path, *more: str, device: str = "cpu"
) -> tuple[RetrievalTask, Sampler]:
    read = load_recipe(recipe, [*SMALL, *OWN[recipe], *more])
    run = prepare(read, *open_with_features(dataset, "toy-grid"), out, torch.device(device))
    return run.task.train(), run.sampler


def batches(sampler: Sampler) -> Iterator[Any]:
    epoch = 0
    while True:
        yield from sampler.epoch(0, epoch)
        epoch += 1


def seeded_losses(task: RetrievalTask, sampler: Sampler, steps: int) -> list[float]:
    """Losses of the same weights on one batch after the other, with gradients as in training."""
    losses = []
    for step, rows in zip(range(steps), batches(sampler), strict=False):
        torch.manual_seed(step)
        losses.append(float(task.loss(rows, Clock(step, 0)).total.detach()))
    return losses


class Replay:
    """What recordings do, without a GPU: the first loss of a shape is computed again, on the tensors of other batches."""

    def __init__(self, task: RetrievalTask) -> None:
        self._task = task
        self.recorded: dict[Hashable, RecordableLoss] = {}
        self.calls: Counter[Hashable] = Counter()
        self._scheduled = ScheduledValues(torch.device("cpu"))

    def __call__(self, rows: Any, clock: Clock) -> Loss:
        step = self._task.recordable(rows, clock)
        self.calls[step.shape] += 1
        first = self.recorded.setdefault(step.shape, step)
        assert [each.shape for each in step.inputs] == [each.shape for each in first.inputs]
        self._scheduled.set(clock)
        # The clock of the recording, whose values are those of now.
        return first.loss(
            step.inputs, RecordedClock(clock.step, clock.epoch, clock.learning_since, self._scheduled)
        )


def replayed_losses(
    replay: Replay, sampler: Sampler, steps: int, clock: Callable[[int], Clock]
) -> list[float]:
    losses = []
    for step, rows in zip(range(steps), batches(sampler), strict=False):
        torch.manual_seed(step)
        losses.append(float(replay(rows, clock(step)).total.detach()))
    return losses


@pytest.mark.parametrize("recipe", OWN)
def test_a_shape_names_everything_that_a_recording_depends_on(
    recipe: str, rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "IMAGE_MULTIPLE", 1)  # batches of other numbers of pictures
    task, sampler = prepared(recipe, rich_dataset, tmp_path)
    expected = seeded_losses(task, sampler, 25)
    replay = Replay(task)
    found = replayed_losses(replay, sampler, 25, lambda step: Clock(step, 0))
    assert found == pytest.approx(expected, rel=1e-6)
    assert replay.calls.total() == 25
    assert max(replay.calls.values()) > 1  # shapes come again
    assert len(set(expected)) == 25


@pytest.mark.parametrize("recipe", ["lingvis_frozen", "mule", "smalr"])
def test_stages_of_a_large_batch_change_no_loss(
    recipe: str, rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_module, "STAGE_ENDS", (3, 5))
    whole, sampler = prepared(recipe, rich_dataset, tmp_path / "whole")
    expected = seeded_losses(whole, sampler, 3)
    monkeypatch.setattr(bank_module, "LARGE", 8)
    staged, sampler = prepared(recipe, rich_dataset, tmp_path / "staged")
    batch = staged._batches.cut(sampler.epoch(0, 0)[0])
    assert len(batch.stages) > 1
    assert batch.stages[-1][1] < len(batch.rows)
    assert seeded_losses(staged, sampler, 3) == pytest.approx(expected, rel=1e-5)


def test_a_batch_in_chunks_finds_the_layers_of_its_languages(rich_dataset: Path, tmp_path: Path) -> None:
    """A chunk has rows of its own: on a GPU, too, its words go by their runs."""
    plain = ['image.encoder={ name = "linear", dim = 16 }']
    whole, sampler = prepared("mule", rich_dataset, tmp_path / "whole", *plain)
    chunked, _ = prepared("mule", rich_dataset, tmp_path / "chunked", *plain, "training.chunk=5")
    found = seeded_losses(chunked, sampler, 3)
    assert found == pytest.approx(seeded_losses(whole, sampler, 3), rel=1e-5)


@pytest.mark.parametrize(
    ("recipe", "more", "shapes"),
    [
        # The weight of the hardest negative rises, and is read anew at every step.
        ("vse_infinity_region", ["terms.matching.objective.schedule=linear"], 1),
        # Both, at different times for two terms.
        ("s_liwe", [], 2),
        # Other operations: all negatives in the first epoch, the hardest after it.
        ("vse_infinity_region", [], 2),
        # A term that has no weight at first.
        ("vse_infinity_region", [*NEIGHBOURS, "terms.neighbours.rises=[1,3]"], 3),
    ],
)
def test_time_is_read_at_every_replay(
    recipe: str, more: list[str], shapes: int, rich_dataset: Path, tmp_path: Path
) -> None:
    task, sampler = prepared(recipe, rich_dataset, tmp_path, *more)
    task.eval()
    rows = sampler.epoch(0, 0)[0]
    replay = Replay(task)
    clocks = [Clock(1 + 60 * epoch, epoch, 1 if epoch else None) for epoch in range(5)]
    expected = [float(task.loss(rows, clock).total.detach()) for clock in clocks]
    assert [float(replay(rows, clock).total.detach()) for clock in clocks] == pytest.approx(
        expected, rel=1e-5
    )
    assert len(replay.calls) == shapes
    assert len({round(each, 4) for each in expected}) >= min(len(clocks) - 1, 2)


@pytest.mark.parametrize(
    ("recipe", "apart"),
    [("par_embn", True), ("vsepp", True), ("mule", False), ("la", False), ("s_liwe", False)],
)
def test_languages_are_part_of_a_shape_where_layers_are_apart(
    recipe: str, apart: bool, rich_dataset: Path, tmp_path: Path
) -> None:
    """The same number of captions and one length, in other languages; then one caption less."""
    task, _ = prepared(recipe, rich_dataset, tmp_path)
    replay = Replay(task)
    table = task._batches.table
    of_lang = [np.flatnonzero((table.langs == lang) & (table.lengths == 6)) for lang in (0, 1)]
    for counts in ((10, 4), (4, 10), (9, 4)):
        rows = np.concatenate([rows[:count] for rows, count in zip(of_lang, counts, strict=True)])
        replay(rows, Clock())
    assert list(replay.calls.values()) == ([1, 1, 1] if apart else [2, 1])


def test_the_longest_sentence_is_part_of_a_shape(rich_dataset: Path, tmp_path: Path) -> None:
    task, _ = prepared("vse_infinity_region", rich_dataset, tmp_path)
    task.eval()
    lengths = task._batches.table.lengths
    short, long = (np.flatnonzero(lengths == length)[:6] for length in (lengths.min(), lengths.max()))
    multiple = int(lengths.max()) - 1  # a round number between the two
    assert lengths.min() <= multiple < lengths.max()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batches_module, "LENGTH_MULTIPLE", multiple)
        expected = [float(task.loss(rows, Clock()).total.detach()) for rows in (short, long)]
        replay = Replay(task)
        assert [float(replay(rows, Clock()).total.detach()) for rows in (short, long)] == expected
    assert len(replay.calls) == 2


class Kept:
    """In place of a recording on a GPU."""

    def replay(self, inputs: Sequence[torch.Tensor]) -> str:
        return "replayed"


def test_the_recording_that_was_used_least_recently_makes_room(
    rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(recorded_module, "MOST_RECORDINGS", 2)
    monkeypatch.setattr(RecordedSteps, "_record", lambda self, step, clock: Kept())
    task, sampler = prepared("vse_infinity_region", rich_dataset, tmp_path)
    rows = sampler.epoch(0, 0)[0]
    steps: Any = RecordedSteps(task, adam(task), lambda loss: "plain")  # type: ignore[arg-type,return-value]
    steps._worthwhile = lambda shape: steps._seen[shape] >= 2
    # Shapes by their number of sentences: recorded when they come again.
    calls = "3344 3 55 4 4 5".replace(" ", "")
    found = [steps(rows[: int(count)], Clock()) for count in calls]
    assert found == [
        *("plain", "replayed", "plain", "replayed"),
        *("replayed", "plain", "replayed"),  # 5 takes the place of 4: 3 was used later
        *("plain", "replayed", "replayed"),  # 4 comes twice before it is recorded again, in the place of 3
    ]


def text_only_rows(task: RetrievalTask) -> Any:
    return np.flatnonzero(task._batches.table.origin == Origin.TEXT_ONLY)


def test_a_batch_without_pictures_is_a_shape_of_its_own(rich_dataset: Path, tmp_path: Path) -> None:
    task, sampler = prepared("lingvis_frozen", rich_dataset, tmp_path)
    rows = text_only_rows(task)[:8]
    replay = Replay(task)
    for each in (rows, sampler.epoch(0, 0)[0], rows):
        task.zero_grad()
        loss = replay(each, Clock()).total
        assert loss.isfinite()
    loss.backward()  # type: ignore[no-untyped-call]
    assert list(replay.calls.values()) == [2, 1]
    assert all(each.grad is None for each in task.model.image.parameters())
    assert any(each.grad is not None and each.grad.any() for each in task.model.text.parameters())


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute padding too, as steps on a GPU do."""
    for module in (recurrent, task_module, valid):
        monkeypatch.setattr(module, "leaves_out", lambda values: False)


class Waits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes operations that would make the host wait for a device."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "is_nonzero", "equal")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        name = function.overloadpacket.__name__
        picks = name in ("index", "index_put", "index_put_", "_index_put_impl_")
        if name in self.NAMES or (
            picks and any(each is not None and each.dtype == torch.bool for each in args[1])
        ):
            self.found.add(name)
        return function(*args, **(kwargs or {}))


def one_step(take_step: TrainingStep, rows: Any, step: int) -> float:
    """The loss of a step."""
    clock = Clock(step, 0)
    loop.seed_step(0, clock)
    return float(take_step(rows, clock).values[0])


def adam(task: RetrievalTask) -> torch.optim.Optimizer:
    return make_optimizer(task.trained, name="adam", lr=1e-3, weight_decay=0.0, factors={})


@pytest.mark.parametrize("recipe", OWN)
def test_encoding_and_losses_never_ask_for_a_value(recipe: str, rich_dataset: Path, tmp_path: Path) -> None:
    task, sampler = prepared(recipe, rich_dataset, tmp_path)
    with Waits() as waits:
        loss = task.loss(sampler.epoch(0, 0)[0], Clock(10, 0))
        loss.total.backward()  # type: ignore[no-untyped-call]
    assert waits.found == set()


def test_the_watch_for_waits_finds_them() -> None:
    values = torch.tensor([1.0, -1.0])
    with Waits() as waits:
        assert values[values > 0].sum().item() == 1
        values[values > 0] = 2.0
    assert waits.found == {"index", "_local_scalar_dense", "index_put_"}


def trained_losses(
    recipe: str, dataset: Path, out: Path, *more: str, graphs: bool
) -> tuple[list[float], TrainingStep, RetrievalTask]:
    values = (*more, f"training.graphs={str(graphs).lower()}")
    task, sampler = prepared(recipe, dataset, out, *values, device="cuda")
    take_step = make_step(task, adam(task), clip=2.0)
    found = [
        one_step(take_step, rows, step) for step, rows in zip(range(STEPS), batches(sampler), strict=False)
    ]
    return found, take_step, task


@needs_gpu
@pytest.mark.parametrize("recipe", ON_GPU)
def test_recorded_and_plain_training_have_the_same_losses(
    recipe: str, rich_dataset: Path, tmp_path: Path
) -> None:
    plain, eager, without = trained_losses(recipe, rich_dataset, tmp_path / "plain", graphs=False)
    recorded, take_step, task = trained_losses(recipe, rich_dataset, tmp_path / "recorded", graphs=True)
    assert not isinstance(eager, RecordedSteps)
    assert isinstance(take_step, RecordedSteps)
    assert len(take_step._recordings) > 0
    assert recorded == pytest.approx(plain, rel=2e-3)
    assert recorded[-1] != recorded[0]
    for name, value in task.model.state_dict().items():
        # What has no effect, such as a bias before a batch normalisation, moves by noise.
        if "running" in name or name.endswith("tracked"):
            torch.testing.assert_close(value, without.model.state_dict()[name], rtol=2e-2, atol=1e-3)


@needs_gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("recipe", ["lingvis_frozen", "mule", "smalr"])
def test_recorded_stages_of_a_large_batch_change_no_loss(
    recipe: str, precision: str, rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_module, "STAGE_ENDS", (3, 5))
    values = f"training.precision={precision}"
    whole, _, _ = trained_losses(recipe, rich_dataset, tmp_path / "whole", values, graphs=False)
    monkeypatch.setattr(bank_module, "LARGE", 8)
    staged, take_step, task = trained_losses(recipe, rich_dataset, tmp_path / "staged", values, graphs=True)
    assert len(task._batches.cut(np.arange(12)).stages) > 1
    assert isinstance(take_step, RecordedSteps)
    assert len(take_step._recordings) > 0
    assert staged == pytest.approx(whole, rel=2e-3 if precision == "float32" else 5e-2)


@needs_gpu
def test_a_recorded_batch_without_pictures_leaves_the_image_side_alone(
    rich_dataset: Path, tmp_path: Path
) -> None:
    task, sampler = prepared("lingvis_frozen", rich_dataset, tmp_path, device="cuda")
    take_step = make_step(task, adam(task), clip=2.0)
    one_step(take_step, sampler.epoch(0, 0)[0], 0)  # every parameter has moments now
    rows = text_only_rows(task)[:8]
    before = {name: value.clone() for name, value in task.model.image.named_parameters()}
    losses = [one_step(take_step, rows, 1) for _ in range(5)]  # the third call is recorded
    assert isinstance(take_step, RecordedSteps)
    assert len(take_step._recordings) == 1
    assert losses[4] < losses[0]
    for name, value in task.model.image.named_parameters():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


class Killed(BaseException):
    """As sudden as a kill: nothing of ours catches it."""


@needs_gpu
@pytest.mark.parametrize("recipe", ON_GPU)
def test_a_run_killed_on_the_gpu_ends_as_if_it_had_not_been(
    recipe: str, rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*SMALL, *OWN[recipe], "training.checkpoint_seconds=0"]
    whole = train(recipe, rich_dataset, tmp_path / "whole", overrides=options, device="cuda")
    go = loop.seed_step

    def die(seed: int, clock: Clock) -> None:
        if clock.step == 7:
            raise Killed
        go(seed, clock)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "seed_step", die)
        with pytest.raises(Killed):
            train(recipe, rich_dataset, tmp_path / "run", overrides=options, device="cuda")
    again = train(recipe, rich_dataset, tmp_path / "run", overrides=options, resume=True, device="cuda")
    assert again.config.training.steps == whole.config.training.steps >= STEPS
    # Other steps are recorded ones in the resumed run, and kernels of a GPU add up in no fixed order. Losses are
    # compared and not weights: what has no effect, such as a bias before a batch normalisation, moves by noise.
    one, other = (
        {record["step"]: record["loss"] for record in read_log(tmp_path / name) if record["kind"] == "train"}
        for name in ("whole", "run")
    )
    assert len(one) >= STEPS  # with a checkpoint at every step each loss is written
    assert other == pytest.approx(one, rel=2e-3)


@needs_gpu
@pytest.mark.parametrize("recipe", ON_GPU)
def test_a_step_does_not_make_the_host_wait(recipe: str, rich_dataset: Path, tmp_path: Path) -> None:
    task, sampler = prepared(recipe, rich_dataset, tmp_path, "training.graphs=false", device="cuda")
    take_step = make_step(task, adam(task), clip=2.0)
    first, second = sampler.epoch(0, 0)[:2]
    one_step(take_step, first, 0)  # what is made once, such as the optimiser's moments
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        numbers = take_step(second, Clock(1, 0))
        with pytest.raises(RuntimeError):  # the guard is awake: looking at the loss is an error now
            float(numbers.values[0])
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert float(numbers.values[0]) > 0
