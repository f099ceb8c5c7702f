from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from lingvis.errors import UserError
from lingvis.model.folder import CHECKPOINT
from lingvis.training.loop.checkpoint import (
    TrainingState,
    check_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from lingvis.training.loop.log import RunLog, draw_curves, read_log
from lingvis.training.loop.optimizer import make_optimizer, make_schedule, set_rate
from lingvis.training.loop.watch import COLLAPSE_STEPS, Loss, LossWatch, StepNumbers


def two_parts() -> nn.Module:
    torch.manual_seed(0)
    return nn.ModuleDict(
        {
            "text": nn.ModuleDict({"words": nn.Linear(3, 3), "encoder": nn.Linear(3, 3)}),
            "image": nn.Linear(3, 3),
        }
    )


def named(model: nn.Module) -> dict[str, nn.Parameter]:
    return dict(model.named_parameters())


def test_factors_scale_and_freeze_by_the_longest_prefix() -> None:
    model = two_parts()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = make_optimizer(
        named(model), name="adam", lr=1.0, weight_decay=0.0, factors={"text": 0.1, "text.words": 0.0}
    )
    assert {name for name, p in model.named_parameters() if not p.requires_grad} == {
        "text.words.weight",
        "text.words.bias",
    }
    set_rate(optimizer, 0.5)
    assert sorted(group["lr"] for group in optimizer.param_groups) == [0.05, 0.5]
    sum(p.sum() for p in model.parameters() if p.requires_grad).backward()  # type: ignore[union-attr]
    optimizer.step()
    after = model.state_dict()
    for name, value in before.items():
        # Adam's first step is the learning rate itself.
        expected = 0.0 if name.startswith("text.words") else 0.05 if name.startswith("text") else 0.5
        torch.testing.assert_close(value - after[name], torch.full_like(value, expected))


def test_factors_that_name_nothing_or_freeze_all_are_refused() -> None:
    with pytest.raises(UserError, match=r"text\.word, which no parameter has"):
        make_optimizer(named(two_parts()), name="adam", lr=1, weight_decay=0, factors={"text.word": 0.1})
    with pytest.raises(UserError, match="freezes every parameter"):
        make_optimizer(named(two_parts()), name="adam", lr=1, weight_decay=0, factors={"text": 0, "image": 0})


def test_what_a_part_has_frozen_itself_stays_frozen() -> None:
    model = two_parts()
    parameters = named(model)
    parameters["text.words.weight"].requires_grad_(False)
    optimizer = make_optimizer(parameters, name="adam", lr=1.0, weight_decay=0.5, factors={"text.words": 2.0})
    assert not parameters["text.words.weight"].requires_grad
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert held == {id(p) for name, p in parameters.items() if name != "text.words.weight"}


def test_schedules() -> None:
    step = make_schedule(
        "step", lr=2.0, epochs=[2, 3], factor=0.1, warmup_epochs=[1], total_epochs=4, steps_per_epoch=10
    )
    assert step(0, 0) == 2.0
    assert step(10, 1) == pytest.approx(0.2)
    assert step(14, 1) == pytest.approx(1.0)
    assert step(19, 1) == pytest.approx(2.0)
    assert step(20, 2) == pytest.approx(0.2)
    assert step(30, 3) == pytest.approx(0.02)
    cosine = make_schedule(
        "cosine", lr=2.0, epochs=[], factor=0.1, warmup_epochs=[], total_epochs=4, steps_per_epoch=10
    )
    assert cosine(0, 0) == 2.0
    assert cosine(10, 1) == pytest.approx(1 + math.cos(math.pi / 4))
    assert cosine(39, 3) < 0.02
    above = make_schedule(
        "cosine",
        lr=2.0,
        epochs=[],
        factor=0.1,
        warmup_epochs=[],
        total_epochs=4,
        steps_per_epoch=10,
        last=0.4,
    )
    assert above(0, 0) == 2.0
    assert above(20, 2) == pytest.approx(2 * (0.4 + 0.6 * 0.5))
    assert above(40, 3) == pytest.approx(0.8)


def told(total: float, matching: float, blind: float, norm: float = 1.0) -> StepNumbers:
    rest = torch.tensor(total - matching)
    loss = Loss(
        {"matching": torch.tensor(matching), "rest": rest},
        watched="matching",
        matching=torch.tensor(matching),
        blind=torch.tensor(blind),
    )
    return StepNumbers.of(loss, torch.tensor(norm))


def test_watch_names_the_step_of_a_non_finite_loss() -> None:
    watch = LossWatch()
    for step, loss in enumerate([3.0, 2.0, float("nan"), 1.0], start=1):
        watch.add(step, told(loss, 1.0, 10.0))
    with pytest.raises(UserError, match="loss became nan at step 3; a checkpoint"):
        watch.flush()
    watch.add(5, told(1.0, 1.0, 10.0, norm=float("inf")))
    with pytest.raises(UserError, match="gradient became inf at step 5"):
        watch.flush()


def test_watch_finds_a_collapse_and_not_a_slow_start() -> None:
    """Terms beside the objective go on falling: only the part between pictures and sentences tells."""
    watch = LossWatch()
    for step in range(COLLAPSE_STEPS - 1):
        watch.add(step, told(90.0 - step / 10, 51.25, 51.2))
    records = watch.flush()
    assert [record.loss for record in records] == pytest.approx(
        [90.0 - n / 10 for n in range(COLLAPSE_STEPS - 1)]
    )
    watch.add(998, told(51.2, 50.0, 51.2))  # one better step and the count starts anew
    watch.add(999, told(51.2, 51.2, 51.2))
    assert watch.flush()
    for step in range(1000, 1000 + COLLAPSE_STEPS):
        watch.add(step, told(70.0 - step / 100, 51.2, 51.2))
    with pytest.raises(UserError, match=r"collapsed: term matching has stuck at 51\.2"):
        watch.flush()


def test_a_better_validation_on_the_plateau_is_no_collapse() -> None:
    """SMALR with ten languages stays 13 epochs of 176 steps near the blind value while recall rises in each of them."""
    watch = LossWatch()
    for epoch in range(5):
        for step in range(COLLAPSE_STEPS - 24):
            watch.add(1000 * epoch + step, told(51.2, 51.2, 51.2))
        assert watch.flush()
        watch.improved()
    for step in range(COLLAPSE_STEPS):
        watch.add(9000 + step, told(51.2, 51.2, 51.2))
    with pytest.raises(UserError, match="collapsed"):
        watch.flush()


Trained = tuple[nn.Module, torch.optim.Optimizer]


def trained(steps: int) -> Trained:
    """A model and its optimiser after some steps."""
    model = two_parts()
    optimizer = make_optimizer(named(model), name="adamw", lr=0.1, weight_decay=0.01, factors={"image": 0.5})
    go_on((model, optimizer), steps)
    return model, optimizer


def go_on(made: Trained, steps: int) -> None:
    model, optimizer = made
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p**2).sum() for p in model.parameters()).backward()  # type: ignore[union-attr]
        optimizer.step()


def test_checkpoint_brings_everything_back(tmp_path: Path) -> None:
    model, optimizer = made = trained(3)
    state = TrainingState(
        "me", step=3, epoch=1, batch=2, best_score=4.5, best_epoch=1, best=dict(model.state_dict())
    )
    save_checkpoint(tmp_path, state, *made)
    other, other_optimizer = again = trained(0)
    found = load_checkpoint(tmp_path, "me", *again)
    assert (found.step, found.epoch, found.batch, found.best_score, found.best_epoch) == (3, 1, 2, 4.5, 1)
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
        assert torch.equal(value, found.best[name])
    for (_, a), (_, b) in zip(
        optimizer.state_dict()["state"].items(), other_optimizer.state_dict()["state"].items(), strict=True
    ):
        assert all(torch.equal(a[key], b[key]) for key in a)
    go_on(again, 3)
    for name, value in trained(6)[0].state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
        assert not torch.equal(value, model.state_dict()[name])


def test_checkpoint_refuses_what_is_not_its_own(tmp_path: Path) -> None:
    made = trained(1)
    with pytest.raises(UserError, match="no checkpoint"):
        load_checkpoint(tmp_path, "me", *made)
    save_checkpoint(tmp_path, TrainingState("me"), *made)
    with pytest.raises(UserError, match="begun with another recipe"):
        load_checkpoint(tmp_path, "you", *made)
    whole = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged"):
        load_checkpoint(tmp_path, "me", *made)


def test_log_drops_what_lies_past_the_checkpoint_and_a_torn_line(tmp_path: Path) -> None:
    log = RunLog(tmp_path, from_step=0, from_epoch=0)
    for step in (50, 100, 150):
        log.write("train", step, {"loss": 1 / step, "lr": 0.1})
    log.write("val", 100, {"epoch": 2, "mR": 11.0})  # the epoch ended at that step, after the checkpoint
    log.write("val", 150, {"mR": 12.5})
    log.close()
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')
    again = RunLog(tmp_path, from_step=100, from_epoch=1)
    again.close()
    assert [record["step"] for record in again.records] == [50, 100]
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [50, 100]
    draw_curves(tmp_path, read_log(tmp_path))
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_of_another_format_is_named_as_such(tmp_path: Path) -> None:
    save_file(
        {"x": torch.zeros(1)}, tmp_path / CHECKPOINT, metadata={"state": '{"identity": "me"}'}
    )  # as format 1 was
    with pytest.raises(UserError, match=r"begun by another version of lingvis \(checkpoint format 1"):
        check_checkpoint(tmp_path, "me")
