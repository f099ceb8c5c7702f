"""Weights in float16 and int8: their values, their folders, and damage to them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import lingvis
from lingvis.cli import main
from lingvis.collection.binding import image_fingerprint
from lingvis.errors import UserError
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.model.compress import compress
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ADDED, CARD, CONFIG, CONSISTENCY, WEIGHTS, ModelConfig
from lingvis.model.precision import Precision, reduce_precision, restore_precision

from ..collection.conftest import make_pictures
from .live_model import make_live_model

STORED = Path(__file__).parent / "format-1"
TEXTS = ["a red dog on the beach", "das Haus am Strand"]
CONV = "image.backbone.network._conv_head.weight"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_live_model(tmp_path_factory.mktemp("precision") / "whole")


@pytest.fixture(scope="module")
def small(whole: Path) -> Path:
    compress(whole, whole.parent / "int8")
    return whole.parent / "int8"


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    shutil.copytree(small, tmp_path / "copy")
    return tmp_path / "copy"


def restored(tensor: Tensor, weights: Precision) -> Tensor:
    return restore_precision(reduce_precision({"x": tensor}, weights))["x"]


def test_int8_is_the_nearest_of_255_steps_per_row() -> None:
    generator = torch.Generator().manual_seed(0)
    for shape in ((7, 64), (5, 4, 3, 3), (0, 40)):
        sizes = torch.logspace(-3, 3, shape[0]).view(-1, *(1,) * (len(shape) - 1))  # very different rows
        tensor = torch.randn(shape, generator=generator) * sizes
        reduced = reduce_precision({"x": tensor}, "int8")
        assert (reduced["x"].dtype, reduced["x.scale"].dtype) == (torch.int8, torch.float16)
        assert reduced["x.scale"].shape == (shape[0],)
        values = restored(tensor, "int8")
        assert values.dtype == torch.float32
        for row, value in zip(tensor, values, strict=True):
            step = float(row.abs().max()) / 127
            assert (
                float((row - value).abs().max()) <= 0.51 * step
            )  # half a step, and the rounding of the scale


def test_rows_of_zeros_stay_zero() -> None:
    tensor = torch.zeros(3, 40)
    tensor[1, 5] = 1e-12
    tensor[2] = 127.0
    assert restored(tensor, "int8").tolist() == [[0.0] * 40, [0.0] * 40, [127.0] * 40]


def test_vectors_short_rows_and_whole_numbers_are_not_int8() -> None:
    tensors = {
        "vector": torch.randn(5000),
        "short": torch.randn(90, 1, 5, 5),
        "single": torch.tensor(0.25),
        "count": torch.tensor([3, 2**40]),
        "huge": torch.tensor([[1e9] * 40]),
    }
    reduced = reduce_precision(tensors, "int8")
    assert set(reduced) == set(tensors)
    assert [reduced[name].dtype for name in tensors] == [torch.float16] * 3 + [torch.int64, torch.float32]
    for name, tensor in restore_precision(reduced).items():
        torch.testing.assert_close(tensor, tensors[name], rtol=2**-11, atol=1e-7)


def test_float32_and_a_weight_called_scale_are_unchanged() -> None:
    tensors = {"part.scale": torch.randn(4), "part.weight": torch.randn(40, 40)}
    for weights in ("float32", "int8"):
        loaded = restore_precision(reduce_precision(tensors, weights))
        assert set(loaded) == set(tensors)
    assert all(
        torch.equal(loaded, tensors[name]) for name, loaded in reduce_precision(tensors, "float32").items()
    )


@pytest.mark.parametrize(("weights", "size", "error"), [("float16", 0.51, 1e-3), ("int8", 0.28, 0.02)])
def test_a_compressed_model_encodes_nearly_the_same(
    whole: Path, weights: Any, size: float, error: float, tmp_path: Path
) -> None:
    result = lingvis.compress(whole, tmp_path / "out", weights=weights)
    pictures = make_pictures(tmp_path / "photos", 3)
    before, after = (Embedder.load(run, device="cpu") for run in (whole, tmp_path / "out"))
    assert all(value.dtype == torch.float32 for value in after.model.parameters())
    for emb in (before, after):
        assert emb.languages == ["en", "de"]
    for one, other in (
        (before.encode_texts(TEXTS, ["en", "de"]), after.encode_texts(TEXTS, ["en", "de"])),
        (before.encode_images(pictures), after.encode_images(pictures)),
    ):
        assert 0 < 1 - float(np.min(np.sum(one * other, axis=1))) < error
    assert result.weights_after < size * result.weights_before
    assert result.weights_before == (whole / WEIGHTS).stat().st_size
    assert result.folder == sum(file.stat().st_size for file in (tmp_path / "out").iterdir())


def test_a_compressed_folder_describes_itself(whole: Path, small: Path) -> None:
    assert {file.name for file in small.iterdir()} == {CONFIG, WEIGHTS, CARD, "characters.json"}
    before, after = ModelConfig.read(whole), ModelConfig.read(small)
    loaded = Embedder.load(small, device="cpu")
    assert after.name == "int8"
    assert after.image_fingerprint == loaded.model.image_fingerprint() != before.image_fingerprint
    assert image_fingerprint(loaded) != image_fingerprint(Embedder.load(whole, device="cpu"))
    assert after.model_copy(update={"name": before.name, "image_fingerprint": ""}) == before.model_copy(
        update={"image_fingerprint": ""}
    )
    card = (small / CARD).read_text()
    assert (
        card.startswith("# a card\n") and "## Weights in int8\nThe weights of whole, stored as int8" in card
    )


def test_compressing_again_changes_nothing(small: Path, tmp_path: Path) -> None:
    compress(small, tmp_path / "again")
    once, twice = (load_file(run / WEIGHTS) for run in (small, tmp_path / "again"))
    assert once.keys() == twice.keys()
    assert all(torch.equal(once[name], twice[name]) for name in once)


def test_added_languages_are_compressed_too(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(STORED / "model", run)
    shutil.copytree(STORED / "with-added-language", run, dirs_exist_ok=True)
    (run / "log.jsonl").touch()
    result = compress(run, tmp_path / "out", weights="float16")
    before, after = (Embedder.load(folder, device="cpu") for folder in (run, tmp_path / "out"))
    assert after.languages == before.languages and after.added
    lang = next(iter(after.added))
    words = load_file(tmp_path / "out" / ADDED / lang / "words.safetensors")
    assert {tensor.dtype for tensor in words.values()} == {torch.float16}
    np.testing.assert_allclose(
        after.encode_texts(["a b"], lang), before.encode_texts(["a b"], lang), atol=0.01
    )
    assert after.added[lang].config == before.added[lang].config
    assert result.weights_after < result.weights_before
    assert not (tmp_path / "out" / "log.jsonl").exists()


def test_the_learned_consistency_is_kept(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    start = LearnedConsistency.start(["en", "de"])
    learned = LearnedConsistency(start.languages, start.hidden * 3, start.out)
    learned.save(run)
    compress(run, tmp_path / "out")
    kept = LearnedConsistency.load(tmp_path / "out")
    assert kept.languages == ("en", "de")
    np.testing.assert_array_equal(kept.hidden, learned.hidden)
    np.testing.assert_array_equal(kept.out, learned.out)
    shutil.copy(tmp_path / "out" / CONSISTENCY, run)  # of other weights
    compress(run, tmp_path / "other", weights="float16")
    with pytest.raises(UserError, match="was fitted for another model"):
        LearnedConsistency.load(tmp_path / "other")
    (run / CONSISTENCY).write_bytes(b"no weights")
    with pytest.raises(UserError, match=rf"{CONSISTENCY} is damaged \(.*\); delete it, and fit it again"):
        compress(run, tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_nothing_is_replaced_without_force(whole: Path, copy: Path, tmp_path: Path) -> None:
    before = (copy / CONFIG).read_bytes()
    with pytest.raises(UserError, match=r"`out` exists already: .*; choose another folder, or set `force`"):
        compress(whole, copy)
    with pytest.raises(UserError, match=r"is the model folder .* or inside it"):
        compress(whole, whole, force=True)
    with pytest.raises(UserError, match="`out` exists and holds no model"):
        compress(whole, tmp_path, force=True)
    with pytest.raises(UserError, match=r"`weights` is 'int4'; choose one of: float16, int8"):
        compress(whole, tmp_path / "new", weights="int4")  # type: ignore[arg-type]
    assert (copy / CONFIG).read_bytes() == before
    compress(whole, copy, weights="float16", force=True)
    assert ModelConfig.read(copy).name == "copy"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy"]


def test_the_command_prints_sizes(
    whole: Path, copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["compress", str(whole), str(tmp_path / "out"), "--weights", "float16", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["model"], result["base"], result["weights"]) == ("out", "whole", "float16")
    assert result["weights_after"] == (tmp_path / "out" / WEIGHTS).stat().st_size
    with pytest.raises(SystemExit) as caught:
        main(["compress", str(whole), str(copy)])
    assert caught.value.code == 2
    assert "or set --force to replace it" in capsys.readouterr().err
    main(["compress", str(whole), str(copy), "--force"])
    assert capsys.readouterr().out.startswith(f"{copy}: weights {result['weights_before']:,} -> ")


def lose_scale(tensors: dict[str, Tensor]) -> None:
    del tensors[CONV + ".scale"]


def shorten_scale(tensors: dict[str, Tensor]) -> None:
    tensors[CONV + ".scale"] = tensors[CONV + ".scale"][:-1]


def widen_scale(tensors: dict[str, Tensor]) -> None:
    tensors[CONV + ".scale"] = tensors[CONV + ".scale"].float()


def break_scale(tensors: dict[str, Tensor]) -> None:
    tensors[CONV + ".scale"][3] = torch.inf


def lose_weight(tensors: dict[str, Tensor]) -> None:
    del tensors[CONV]


def flatten_weight(tensors: dict[str, Tensor]) -> None:
    tensors[CONV] = tensors[CONV].flatten(1)


def lose_rows(tensors: dict[str, Tensor]) -> None:
    tensors[CONV], tensors[CONV + ".scale"] = torch.tensor(3, dtype=torch.int8), torch.tensor(0.5).half()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lose_scale, rf"is damaged \({CONV} is int8, but its scales, {CONV}\.scale, are missing\); restore"),
        (
            shorten_scale,
            r"must be float16 \[1280\], one value per row of .*, got float16 \[1279\]\); restore",
        ),
        (widen_scale, r"must be float16 \[1280\], one value per row of .*, got float32 \[1280\]\); restore"),
        (break_scale, rf"is damaged \({CONV}\.scale has a value that is not a finite number\); restore"),
        (lose_weight, r"the weights in .* do not fit its config\.json: "),
        (flatten_weight, r"the weights in .* do not fit its config\.json: size mismatch"),
        (lose_rows, r"must be float16 \[\], one value per row"),
    ],
)
def test_damaged_scales_are_reported_in_a_sentence(
    damage: Callable[[dict[str, Tensor]], None], problem: str, copy: Path
) -> None:
    tensors = load_file(copy / WEIGHTS)
    damage(tensors)
    save_file(tensors, copy / WEIGHTS)
    with pytest.raises(UserError, match=problem) as caught:
        Embedder.load(copy, device="cpu")
    assert str(caught.value).isprintable()


def test_sizes_beyond_int8_weights_allocate_nothing(copy: Path) -> None:
    config = json.loads((copy / CONFIG).read_text())
    config["model"]["text"]["words"]["dim"] = 1_000_000
    (copy / CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match="it describes a model that is much larger than the stored weights"):
        Embedder.load(copy, device="cpu")
