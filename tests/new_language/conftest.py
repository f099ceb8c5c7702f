"""Models of one language, and a dataset that has more: German shares letters with English, Greek has its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.data.dataset import write_rows
from lingvis.data.rows import Row
from lingvis.features.store import write_store
from lingvis.training.run import train

COLOURS = [
    ("red", "rot", "κόκκινο"),
    ("green", "grün", "πράσινο"),
    ("blue", "blau", "μπλε"),
    ("grey", "grau", "γκρίζο"),
    ("pink", "rosa", "ροζ"),
    ("brown", "braun", "καφέ"),
]
THINGS = [
    ("dog", "Hund", "σκυλί"),
    ("cat", "Katze", "γάτα"),
    ("house", "Haus", "σπίτι"),
    ("tree", "Baum", "δέντρο"),
    ("car", "Auto", "αυτοκίνητο"),
    ("ball", "Kugel", "μπάλα"),
]
SENTENCES = {
    "en": ("A {c} {t}.", "the {t} is {c}"),
    "de": ("Ein {t} ist {c}.", "{c}: {t}"),
    "el": ("ένα {c} {t}", "{t} {c}"),
}
FEATURES = "toy-grid"
SMALL = [
    'data.languages=["en"]',
    f"data.features={FEATURES}",
    "data.text_only=false",
    "image.encoder.dim=32",
    "image.encoder.hidden=32",
    "text.encoder.dim=32",
    "training.batch_size=24",
    "training.epochs=10",
    "training.precision=float32",
]
SPELLED = ["training.sampling.text_only=0.0", "text.words.dim=24", "text.words.buckets=2000"]


def captions(colour: tuple[str, ...], thing: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {
        lang: tuple(each.format(c=colour[place], t=thing[place]) for each in sentences)
        for place, (lang, sentences) in enumerate(SENTENCES.items())
    }


def make_dataset(folder: Path, keep: Callable[[str, str], bool] = lambda lang, split: True) -> Path:
    """36 pictures of a coloured thing; keep: whether a split has captions of a language."""
    (folder / "images").mkdir(parents=True)
    generator = np.random.default_rng(0)
    rows, sets = [], []
    for c, colour in enumerate(COLOURS):
        for t, thing in enumerate(THINGS):
            name = f"{colour[0]}-{thing[0]}.png"
            Image.new("RGB", (8, 8), (c * 40, t * 40, 0)).save(folder / "images" / name)
            split = "val" if (c + t) % 3 == 0 else "train"
            found = {lang: texts for lang, texts in captions(colour, thing).items() if keep(lang, split)}
            rows.append(Row.model_validate({"image": name, "split": split, "captions": found}, strict=False))
            vector = np.zeros((4, 12))
            vector[:2, c] = 1
            vector[2:, 6 + t] = 1
            sets.append(vector + generator.normal(0, 0.05, vector.shape))
    write_rows(folder / "captions.jsonl", rows)
    write_store(
        folder / "features" / FEATURES, [row.image for row in rows], sets, kind="grid", backbone="toy"
    )
    return folder


def make_pairs(folder: Path) -> Path:
    """A dataset of sentences and their translations, without any picture."""
    folder.mkdir(parents=True)
    lines = []
    for c, colour in enumerate(COLOURS):
        for t, thing in enumerate(THINGS):
            found = {lang: texts[0] for lang, texts in captions(colour, thing).items()}
            lines.append(json.dumps({"id": f"{c}-{t}", "parallel": found}, ensure_ascii=False))
    (folder / "text-only.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session", autouse=True)
def small_validation() -> Iterator[None]:
    """The twelve pictures of split val are enough to choose by, so that most tests need no folds; the others have two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lingvis.new_language.gather.FEW", 12)
        patch.setattr("lingvis.new_language.folds.FOLDS", 2)
        yield


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("new-language") / "data")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pairs(tmp_path_factory.mktemp("new-language") / "pairs")


@pytest.fixture(scope="session")
def spelled_run(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An English model that composes words from letters."""
    out = tmp_path_factory.mktemp("new-language") / "spelled"
    train("lingvis_frozen", dataset, out, overrides=[*SMALL, *SPELLED], device="cpu")
    return out


@pytest.fixture(scope="session")
def word_run(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An English model with a vector for each word."""
    out = tmp_path_factory.mktemp("new-language") / "words"
    parts = [
        "text.tokenizer.name=words",
        "text.tokenizer.min_count=1",
        "text.words.name=embedding",
        "text.words.dim=24",
    ]
    train(
        "lingvis_frozen",
        dataset,
        out,
        overrides=[*SMALL, "training.sampling.text_only=0.0", *parts],
        device="cpu",
    )
    return out
