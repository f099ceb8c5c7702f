"""Names of feature folders, and the advice where a folder is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.features.names import extract_command, store_name
from lingvis.features.store import FeatureStore


def test_store_names_are_folder_names() -> None:
    assert store_name("efficientnet-lite0", "grid") == "efficientnet-lite0-grid"
    assert store_name("open_clip:ViT-B-32/openai", "global") == "open_clip-ViT-B-32-openai-global"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("efficientnet-lite0-global", "--backbone efficientnet-lite0 --kind global"),
        ("efficientnet-lite2-grid", "--backbone efficientnet-lite2 --kind grid"),
        ("efficientnet-lite0-region", "--backbone efficientnet-lite0 --kind region"),
        ("timm-resnet50-grid", "--backbone BACKBONE --kind grid --name timm-resnet50-grid"),
        ("mine", "--backbone BACKBONE --kind KIND --name mine"),
        ("grid", "--backbone BACKBONE --kind grid --name grid"),
    ],
)
def test_a_missing_store_says_how_to_make_just_that_one(name: str, options: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        FeatureStore.open(tmp_path / "photos" / "features" / name)
    assert "named BACKBONE-KIND" in str(caught.value)
    assert str(caught.value).endswith(f"lingvis features extract {tmp_path / 'photos'} {options}")


def test_the_command_says_what_is_not_usual() -> None:
    made = extract_command(
        Path("photos"), backbone="timm:x", kind="region", regions="crop", name="timm-x-region"
    )
    assert made == "lingvis features extract photos --backbone timm:x --kind region --regions crop"
    assert "extract 'my photos' --backbone" in extract_command(Path("my photos"), backbone="b", kind="grid")
    assert extract_command(Path("p"), backbone="b", kind="grid", name="mine").endswith(
        " --kind grid --name mine"
    )
