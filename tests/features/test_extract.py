"""Extraction of a dataset: resuming, broken pictures, full disks, locks."""

from __future__ import annotations

import fcntl
import inspect
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.cli.commands.features import extract as command
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone
from lingvis.features.encode import PictureEncoder, encode_pictures
from lingvis.features.extract import extract
from lingvis.features.store import FeatureStore, without_broken, write_store
from studies.siege.costly import many_scans

MakeDataset = Callable[..., Dataset]


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def leftovers(dataset: Dataset) -> set[str]:
    return {path.name for path in dataset.features_dir.iterdir() if not path.name.endswith(".lock")}


def test_extract_stores_what_live_encoding_gives(make_dataset: MakeDataset, lite0: Backbone) -> None:
    dataset = make_dataset(5)
    store = extract(dataset, backbone=lite0, batch_size=2)
    assert store.path == dataset.features_dir / "efficientnet-lite0-grid"
    assert (store.manifest.origin.kind, store.values.shape) == ("grid", (5 * 49, 1280))
    assert set(np.diff(store.offsets)) == {49}
    assert store.names == [row.image for row in dataset.rows]
    live = encode_pictures([dataset.images_dir / name for name in store.names], lite0, batch_size=2)
    for number, values in enumerate(live):
        np.testing.assert_array_equal(store[number], values)
    assert store.manifest.preprocessing == lite0.preprocessing
    store.verify()
    assert leftovers(dataset) == {"efficientnet-lite0-grid"}
    assert set(files_of(store.path)) == {"manifest.json", "names.json", "offsets.npy", "values.npy"}


def test_a_path_names_the_dataset_as_well(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(2)
    store = extract(str(dataset.path), backbone=tiny, kind="global")
    assert store.names == [row.image for row in dataset.rows]
    assert extract(dataset, backbone=tiny, kind="global").manifest == store.manifest


def test_a_complete_store_is_returned_without_the_backbone(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(2)
    first = extract(dataset, backbone=tiny, kind="global")
    before = (first.path / "manifest.json").stat().st_mtime_ns
    start = time.monotonic()
    again = extract(dataset, backbone="tiny", kind="global")
    assert time.monotonic() - start < 0.1
    assert (again.path / "manifest.json").stat().st_mtime_ns == before


def test_changed_pictures_are_extracted_again(
    make_dataset: MakeDataset, tiny: Backbone, draw: Callable[..., Image.Image]
) -> None:
    dataset = make_dataset(3)
    old = extract(dataset, backbone=tiny, kind="global").values.copy()
    draw(9, 50, 50).save(dataset.images_dir / "01.jpg", quality=50)
    new = extract(dataset, backbone=tiny, kind="global").values
    changed = (old != new).any(axis=1).tolist()
    assert changed == [False, True, False]


def test_regions_keep_their_boxes(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(3, [[(0, 0, 20, 15), (5, 5, 99, 20)], [], [(1, 2, 3, 4)]])
    for regions in ("crop", "pooled"):
        store = extract(dataset, backbone=tiny, kind="region", regions=regions, name=regions, batch_size=2)
        assert store.offsets.tolist() == [0, 2, 3, 4]
        assert store.boxes is not None
        assert store.boxes.tolist() == [[0, 0, 20, 15], [5, 5, 40, 20], [0, 0, 40, 30], [1, 2, 3, 4]]
        assert store.manifest.origin.regions == regions


def test_features_made_otherwise_are_not_overwritten(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(2)
    write_store(dataset.features_dir / "mine", ["00.jpg"], [np.ones((1, 3))])
    with pytest.raises(UserError, match="holds region features of imported made with other options"):
        extract(dataset, backbone=tiny, kind="region", name="mine")
    assert FeatureStore.open(dataset.features_dir / "mine").dim == 3


def test_broken_pictures_stop_or_are_listed(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(8)
    data = (dataset.images_dir / "03.jpg").read_bytes()
    (dataset.images_dir / "03.jpg").write_bytes(data[: len(data) * 2 // 3])
    (dataset.images_dir / "06.jpg").write_bytes(b"")
    (dataset.images_dir / "07.jpg").write_text("hello")
    with pytest.raises(UserError, match=r"03\.jpg cannot be used: .*truncated.*set skip_broken"):
        extract(dataset, backbone=tiny, kind="global", batch_size=2)
    progress = dataset.features_dir / ".tiny-global.partial" / "progress.jsonl"
    assert (
        len(progress.read_text().splitlines()) == 2
    )  # what is made, and the one batch before the broken one
    store = extract(dataset, backbone=tiny, kind="global", batch_size=2, skip_broken=True)
    assert store.names == ["00.jpg", "01.jpg", "02.jpg", "04.jpg", "05.jpg"]
    broken = {entry.image: entry.reason for entry in store.manifest.broken}
    assert list(broken) == ["03.jpg", "06.jpg", "07.jpg"]
    assert "empty" in broken["06.jpg"]
    assert "not a picture" in broken["07.jpg"]
    live = encode_pictures([dataset.images_dir / name for name in store.names], tiny, "global")
    np.testing.assert_allclose(store.values, np.concatenate(list(live)), atol=2e-3, rtol=2e-3)
    with pytest.raises(UserError, match=r"lack 1 of the pictures: 06\.jpg"):
        store.index(["06.jpg"])


def test_a_dataset_and_its_pictures_may_be_behind_links(
    make_dataset: MakeDataset, tiny: Backbone, tmp_path: Path
) -> None:
    dataset = make_dataset(3)
    expected = np.array(extract(dataset, backbone=tiny, kind="global").values)
    dataset.images_dir.rename(tmp_path / "disk")
    dataset.images_dir.symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "00.jpg").rename(tmp_path / "first.jpg")
    (tmp_path / "disk" / "00.jpg").symlink_to(tmp_path / "first.jpg")
    (tmp_path / "link").symlink_to(dataset.path)
    store = extract(tmp_path / "link", backbone=tiny, kind="global", name="linked")
    np.testing.assert_array_equal(store.values, expected)


def test_costly_pictures_are_listed_at_once(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(3)
    (dataset.images_dir / "01.jpg").write_bytes(many_scans(5000))
    start = time.monotonic()
    store = extract(dataset, backbone=tiny, kind="global", skip_broken=True)
    assert time.monotonic() - start < 15
    assert store.names == ["00.jpg", "02.jpg"]
    (broken,) = store.manifest.broken
    assert broken.image == "01.jpg" and "more than 100 scans" in broken.reason
    with pytest.raises(UserError, match=r"01\.jpg cannot be used: it has more than 100 scans"):
        next(encode_pictures([dataset.images_dir / "01.jpg"], tiny, "global"))


def test_only_broken_pictures_are_an_error(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(2)
    for row in dataset.rows:
        (dataset.images_dir / row.image).write_text("no")
    with pytest.raises(UserError, match="none of the 2 pictures"):
        extract(dataset, backbone=tiny, skip_broken=True)


SCRIPT = """
import sys, time
from lingvis.cli.commands.features import extract as command
from lingvis.data.dataset import Dataset
from lingvis.features.backbones import load_backbone
from lingvis.features.extract import extract

backbone = load_backbone("efficientnet-lite0", device="cpu")
fast = backbone.cells

def cells(pixels):  # slow enough for the test to stop it midway
    time.sleep(0.1)
    return fast(pixels)

backbone.cells = cells
extract(Dataset.open(sys.argv[1]), backbone=backbone, kind="region", regions="pooled", batch_size=2)
"""


def test_killed_runs_resume_to_the_same_bytes(make_dataset: MakeDataset, lite0: Backbone) -> None:
    """Two kills at different moments, then the rest; a second dataset is extracted without interruption."""
    boxes = [[(0.0, 0.0, 9.0 + i, 20.0)] * (1 + i % 3) for i in range(20)]
    dataset, other = make_dataset(20, boxes), make_dataset(20, boxes, folder="other")
    target = dataset.features_dir / "efficientnet-lite0-region"
    progress = dataset.features_dir / ".efficientnet-lite0-region.partial" / "progress.jsonl"

    def batches() -> int:
        return len(progress.read_text().splitlines()) - 1 if progress.is_file() else 0

    for stop in (2, 4):
        child = subprocess.Popen([sys.executable, "-c", SCRIPT, str(dataset.path)])
        deadline = time.monotonic() + 60
        while batches() < stop and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert stop <= batches() < 10
        assert not target.exists()
    resumed = extract(dataset, backbone=lite0, kind="region", regions="pooled", batch_size=2)
    whole = extract(other, backbone=lite0, kind="region", regions="pooled", batch_size=2)
    assert files_of(resumed.path) == files_of(whole.path)
    assert leftovers(dataset) == {"efficientnet-lite0-region"}


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size`: writes fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def interrupted(dataset: Dataset, backbone: Backbone, size: int) -> Path:
    """Run extraction until its values file reaches `size` bytes; the partial folder."""
    with (
        file_limit(size),
        pytest.raises(UserError, match=r"no space left on the disk for .*finished work is kept"),
    ):
        extract(dataset, backbone=backbone, kind="global", batch_size=2)
    return dataset.features_dir / ".tiny-global.partial"


def test_a_full_disk_keeps_the_work(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset, other = make_dataset(9), make_dataset(9, folder="other")
    folder = interrupted(dataset, tiny, 128 + 5 * 1024 + 5)
    assert len((folder / "progress.jsonl").read_text().splitlines()) == 3  # the header and 5 of 6 vectors fit
    resumed = extract(dataset, backbone=tiny, kind="global", batch_size=2)
    assert files_of(resumed.path) == files_of(extract(other, backbone=tiny, kind="global", batch_size=2).path)


@pytest.mark.parametrize("damage", ["torn line", "torn values", "lost values", "garbage", "sealed", "other"])
def test_any_state_of_the_partial_folder_resumes(
    damage: str, make_dataset: MakeDataset, tiny: Backbone
) -> None:
    dataset, other = make_dataset(9), make_dataset(9, folder="other")
    folder = interrupted(dataset, tiny, 128 + 5 * 1024 + 5)
    progress, values = folder / "progress.jsonl", folder / "values.npy"
    if damage == "torn line":
        progress.write_bytes(progress.read_bytes()[:-7])
    elif damage == "torn values":
        values.write_bytes(values.read_bytes()[: 128 + 3 * 1024 + 7])
    elif damage == "lost values":  # as after a power cut: the log reached the disk, the values did not
        values.write_bytes(values.read_bytes()[: 128 + 1024] + bytes(3 * 1024))
    elif damage == "garbage":
        progress.write_bytes(progress.read_bytes() + bytes(50) + b"\n")
    elif damage == "sealed":  # killed while the finished store was being described
        (folder / "manifest.json").write_text("{")
        (folder / ".manifest.json.x1.json").write_text("{")
    else:  # another backbone or preprocessing: nothing of it may be used
        progress.write_text(progress.read_text().replace("bicubic", "nearest"))
        values.write_bytes(bytes(len(values.read_bytes())))
    resumed = extract(dataset, backbone=tiny, kind="global", batch_size=2)
    assert files_of(resumed.path) == files_of(extract(other, backbone=tiny, kind="global", batch_size=2).path)


def test_two_processes_do_not_extract_the_same(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(2)
    dataset.features_dir.mkdir()
    handle = os.open(dataset.features_dir / ".tiny-grid.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(UserError, match="another process is extracting"):
        extract(dataset, backbone=tiny)
    assert extract(dataset, backbone=tiny, name="else").offsets.tolist() == [0, 4, 8]
    os.close(handle)
    assert extract(dataset, backbone=tiny).offsets.tolist() == [0, 4, 8]


def test_bad_arguments_are_refused(make_dataset: MakeDataset, tiny: Backbone, tmp_path: Path) -> None:
    dataset = make_dataset(1)
    with pytest.raises(UserError, match="unknown backbone 'nothing'"):
        extract(dataset, backbone="nothing")
    with pytest.raises(UserError, match="unknown kind"):
        extract(dataset, backbone=tiny, kind="all")
    with pytest.raises(UserError, match="batch_size must be at least 1, got 0"):
        extract(dataset, backbone=tiny, batch_size=0)
    for name in ("../out", ".hidden", "a/b"):
        with pytest.raises(UserError, match="bad name"):
            extract(dataset, backbone=tiny, name=name)
    with pytest.raises(UserError, match="extraction needs the pictures"):
        extract(Dataset(tmp_path / "none", dataset.rows), backbone=tiny)


def test_regions_are_pooled_unless_asked_otherwise(make_dataset: MakeDataset, tiny: Backbone) -> None:
    """The library and the command line have one default."""
    store = extract(make_dataset(2), backbone=tiny, kind="region")
    assert store.manifest.origin.regions == "pooled"
    for function in (command, extract, encode_pictures, PictureEncoder):
        assert inspect.signature(function).parameters["regions"].default == "pooled", function


def test_dataset_loses_the_pictures_broken_in_any_store(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(4)
    stores = []
    for name in ("01.jpg", "03.jpg"):
        file = dataset.images_dir / name
        whole = file.read_bytes()
        file.write_bytes(b"")
        stores.append(extract(dataset, backbone=tiny, kind="global", name=name[:2], skip_broken=True))
        file.write_bytes(whole)
    assert [row.image for row in without_broken(dataset, stores).rows] == ["00.jpg", "02.jpg"]
    assert len(without_broken(dataset, stores[:1]).rows) == 3
