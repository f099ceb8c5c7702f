"""Every value that a study changes exists in the recipes of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.training.validate import load_recipe
from studies.languages.rows import ROWS
from studies.sparse.methods import ABLATIONS, ALL, TAGS, ablations_of, method_overrides
from studies.transfer.cells import TransferCell, TransferSetting
from studies.transfer.methods import METHODS


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_languages_load(name: str) -> None:
    row = ROWS[name]
    recipe = load_recipe(row.recipe, [*row.overrides, "training.seed=3"])
    assert recipe.name == row.recipe and recipe.training.seed == 3


def test_values_of_rows_arrive() -> None:
    warm = load_recipe("vse_infinity_region", ROWS["vse_infinity-de"].overrides)
    assert warm.terms["matching"].options["objective"]["warmup_epochs"] == 5
    slow = load_recipe("s_liwe", ROWS["s_liwe-10"].overrides)
    assert slow.terms["matching"].options["objective"]["base"] == pytest.approx(0.991**0.2, abs=1e-5)
    for name in ("lingvis_sparse-all", "lingvis_sparse-all-en"):
        recipe = load_recipe("lingvis_sparse", ROWS[name].overrides)
        assert recipe.pseudo.name == "none"
        assert {key: term.weight for key, term in recipe.terms.items()} == {
            "matching": 1.0,
            "pseudo": 0.0,
            "sentences": 0.5,
        }


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("method", [name for name in ALL if name != TAGS])
def test_methods_of_few_annotations_load(method: str, share: float) -> None:
    shared = ["data.features=toy", "pseudo.detections=ideal"]
    recipe = load_recipe(ALL[method].recipe, method_overrides(method, shared, tags="global", share=share))
    assert recipe.data.features == "toy"
    if ALL[method].recipe != "a3vse" or method == "no-s" or share == 1:
        assert recipe.pseudo.model_dump() == {"name": "none"} and recipe.terms["matching"].weight == 1
    else:
        detections = {"swap-s_g": "global", "regions": ""}.get(method, "ideal")
        assert recipe.pseudo.model_dump() == {"name": "detectors", "detections": detections}
        assert recipe.terms["matching"].weight == 0.8


@pytest.mark.parametrize("method", METHODS)
def test_cells_of_transfer_load(method: str, tmp_path: Path) -> None:
    setting = TransferSetting(
        dataset=tmp_path,
        dataset_sha256="",
        overrides=("training.epochs=2",),
        out=tmp_path,
        work=tmp_path,
        device="cpu",
        source="de",
        target="fr",
        available=100,
        split="test",
        dictionary=tmp_path / "de-fr.txt",
    )
    cell = TransferCell(setting, method, 50, 1)
    recipe = load_recipe(cell.recipe, cell.overrides())
    assert (recipe.data.languages, recipe.data.captions, recipe.training.epochs) == (["fr"], 50, 2)
    assert recipe.start.run == ("" if method == "fs" else str(tmp_path / "source-de-1"))


def test_without_other_detections_the_ablation_of_regions_is_left_out() -> None:
    assert "regions" not in ablations_of(["data.features=toy"])
    assert [*ablations_of(["pseudo.detections=joined"])] == [*ABLATIONS]
