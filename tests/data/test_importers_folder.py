"""import_dataset: whole or not at all, the same import twice changes nothing, stored things survive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.cli import main
from lingvis.data.dataset import Dataset
from lingvis.data.importers import import_dataset
from lingvis.data.importers.pictures import place_file
from lingvis.errors import UserError
from lingvis.files import BEHIND_LINK


def make_source(folder: Path, captions: dict[str, str] | None = None) -> Path:
    captions = captions or {"a.jpg": "A dog.", "x/b.jpg": "A cat."}
    folder.mkdir(parents=True, exist_ok=True)
    for name in captions:
        file = folder / "images" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(f"picture {name}".encode())
    lines = [f"{name},{text},en,train" for name, text in captions.items()]
    (folder / "t.csv").write_text("image,caption,lang,split\n" + "\n".join(lines) + "\n")
    return folder / "t.csv"


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file with its inode, time and content."""
    return {
        file.relative_to(folder).as_posix(): (file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def content(folder: Path) -> dict[str, bytes]:
    return {name: found[2] for name, found in snapshot(folder).items()}


def refused(*arguments: Any, **options: Any) -> str:
    problems = options.pop("problems", 1)
    with pytest.raises(UserError) as caught:
        import_dataset(*arguments, **options)
    assert len(caught.value.lines) == (problems if problems == 1 else problems + 1)
    return str(caught.value)


def write_features(folder: Path, names: list[str], arrays: Iterable[NDArray[Any]]) -> None:
    folder.mkdir(parents=True)
    (folder / "names.json").write_text(json.dumps(names))
    np.save(folder / "values.npy", np.stack(list(arrays)))


def test_pictures_are_linked_and_the_result_opens(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    result = import_dataset("csv", source, tmp_path / "out")
    assert result.changed
    assert result.dataset.path == tmp_path / "out"
    again = Dataset.open(tmp_path / "out")
    assert again == result.dataset
    assert again.fingerprint == result.dataset.fingerprint
    assert [(row.image, row.captions) for row in again.rows] == [
        ("a.jpg", {"en": ("A dog.",)}),
        ("x/b.jpg", {"en": ("A cat.",)}),
    ]
    for name in ("a.jpg", "x/b.jpg"):
        assert (tmp_path / "out" / "images" / name).samefile(tmp_path / "in" / "images" / name)
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


@pytest.mark.parametrize("linked", ["picture", "folder"])
def test_links_out_of_the_source_are_followed_only_on_demand(tmp_path: Path, linked: str) -> None:
    source = make_source(tmp_path / "in")
    if linked == "picture":
        (tmp_path / "in" / "images" / "a.jpg").rename(tmp_path / "real.jpg")
        (tmp_path / "in" / "images" / "a.jpg").symlink_to("../../real.jpg")
    else:
        (tmp_path / "in" / "images").rename(tmp_path / "real")
        (tmp_path / "in" / "images").symlink_to("../real")
    for options in ({}, {"images": tmp_path / "in"}):
        count = 1 if linked == "picture" else 2
        sentence = refused("csv", source, tmp_path / "out", problems=count, **options)
        assert "a.jpg is behind a link that leads out of" in sentence and "set follow_links" in sentence
    assert not (tmp_path / "out").exists()
    import_dataset("csv", source, tmp_path / "out", follow_links=True)
    assert not (tmp_path / "out" / "images" / "a.jpg").is_symlink()
    assert (tmp_path / "out" / "images" / "a.jpg").read_bytes() == b"picture a.jpg"


def test_links_within_the_source_and_links_that_are_named_are_followed(tmp_path: Path) -> None:
    make_source(tmp_path / "in")
    (tmp_path / "in" / "images" / "a.jpg").rename(tmp_path / "in" / "first.jpg")
    (tmp_path / "in" / "images" / "a.jpg").symlink_to("../first.jpg")
    (tmp_path / "via").symlink_to("in")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "t.csv").symlink_to(tmp_path / "in" / "t.csv")
    import_dataset("csv", tmp_path / "via", tmp_path / "out")
    import_dataset("csv", tmp_path / "elsewhere" / "t.csv", tmp_path / "too", images=tmp_path / "via")
    for out in ("out", "too"):
        assert (tmp_path / out / "images" / "a.jpg").samefile(tmp_path / "in" / "first.jpg")
        assert not (tmp_path / out / "images" / "a.jpg").is_symlink()


def test_captions_behind_links_are_read_only_on_demand(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root the secret\n")
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.jpg").write_bytes(b"picture")
        (tmp_path / "in" / f"{name}.txt").write_text("a dog\n")
    (tmp_path / "in" / "b.txt").unlink()
    (tmp_path / "in" / "b.txt").symlink_to("../secret")
    assert "b.txt is behind a link" in refused("folder", tmp_path / "in", tmp_path / "out", language="en")
    imported = import_dataset("folder", tmp_path / "in", tmp_path / "out", language="en", follow_links=True)
    assert {row.captions["en"] for row in imported.dataset.rows} == {("a dog",), ("root the secret",)}


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_tables_and_lists_behind_links_are_read_only_on_demand(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"image,caption\nroot,secret\n")
    (tmp_path / "in" / f"t.{ending}").symlink_to("../secret")
    assert "is behind a link" in refused("csv", tmp_path / "in", tmp_path / "out")
    os.mkfifo(tmp_path / "in" / "train_caps.txt")  # nor is a pipe waited for
    assert "has no {split}_caps.txt" in refused("precomp", tmp_path / "in", tmp_path / "out")


def test_a_list_above_the_source_is_no_way_out_either(tmp_path: Path) -> None:
    arrays = tmp_path / "set" / "precomp"
    arrays.mkdir(parents=True)
    np.save(arrays / "train_ims.npy", np.zeros((1, 4), dtype=np.float32))
    (arrays / "train_caps.txt").write_text("a dog\n")
    (arrays / "train_ids.txt").write_text("7\n")
    (tmp_path / "secret.json").write_text('{"7": "secret.jpg"}')
    (tmp_path / "set" / "id_mapping.json").symlink_to("../secret.json")
    options = {"write_features": write_features}
    assert "id_mapping.json is behind a link" in refused("precomp", arrays, tmp_path / "out", **options)
    (tmp_path / "set" / "id_mapping.json").unlink()
    (tmp_path / "secret.json").rename(tmp_path / "set" / "id_mapping.json")
    imported = import_dataset("precomp", arrays, tmp_path / "out", write_features=write_features)
    assert imported.dataset.rows[0].image == "secret.jpg"
    (arrays / "train_ims.npy").rename(tmp_path / "other.npy")
    (arrays / "train_ims.npy").symlink_to(tmp_path / "other.npy")
    assert "train_ims.npy is behind a link" in refused("precomp", arrays, tmp_path / "out", **options)


NAMES_OUTSIDE = ("../secret.jpg", "/etc/secret.jpg", "a/../../secret.jpg", "..\\secret.jpg", "a\0.jpg", "..")


@pytest.mark.parametrize("name", NAMES_OUTSIDE)
@pytest.mark.parametrize("format", ["csv", "karpathy", "coco", "xtd10", "multi30k", "precomp", "liwe"])
def test_no_format_names_pictures_outside_the_folder(tmp_path: Path, format: str, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    if format == "csv":
        (folder / "t.csv").write_text(f'image,caption,lang\n"{name}",a dog,en\n')
    elif format == "karpathy":
        images = [{"filename": name, "split": "train", "sentences": [{"raw": "a dog"}]}]
        (folder / "dataset.json").write_text(json.dumps({"images": images}))
    elif format == "coco":
        value = {
            "images": [{"id": 1, "file_name": name}],
            "annotations": [{"image_id": 1, "caption": "a dog"}],
        }
        (folder / "captions_train2017.json").write_text(json.dumps(value))
    elif format == "xtd10":
        (folder / "test_image_names.txt").write_text(name)
        (folder / "test_1kcaptions_en.txt").write_text("a dog")
    elif format == "multi30k":
        (folder / "image_splits").mkdir()
        (folder / "image_splits" / "train.txt").write_text(name)
        (folder / "train.en").write_text("a dog")
    else:
        np.save(folder / "train_ims.npy", np.zeros((1, 4), dtype=np.float32))
        (folder / "train_ids.txt").write_text(name)
        (folder / ("train_caps.txt" if format == "precomp" else "train_caps.en.txt")).write_text("a dog")
    sentence = refused(format, folder, tmp_path / "out", images=folder, write_features=write_features)
    assert "bad image name" in sentence or "line contains NUL" in sentence
    assert not (tmp_path / "out").exists()


def test_links_of_the_user_in_a_dataset_stay_links(tmp_path: Path) -> None:
    source, out = make_source(tmp_path / "in"), tmp_path / "out"
    import_dataset("csv", source, out)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.txt").write_text("mine")
    (out / "private").symlink_to("../private")
    (out / "notes.txt").symlink_to("../private/notes.txt")
    (out / "gone.txt").symlink_to("nothing")
    make_source(tmp_path / "in", {"a.jpg": "A dog.", "c.jpg": "A cow."})
    assert import_dataset("csv", source, out).changed
    assert {name: os.readlink(out / name) for name in ("private", "notes.txt", "gone.txt")} == {
        "private": "../private",
        "notes.txt": "../private/notes.txt",
        "gone.txt": "nothing",
    }


def test_a_picture_that_is_replaced_during_the_import_is_not_linked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (tmp_path / "in" / "a.jpg").symlink_to("../secret.jpg")
    with pytest.raises(OSError, match=BEHIND_LINK):  # find_pictures saw a regular file there
        place_file(tmp_path.resolve() / "in" / "a.jpg", tmp_path / "out" / "a.jpg")
    assert not (tmp_path / "out" / "a.jpg").exists()


def test_pictures_from_another_disk_are_copied(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    source = make_source(tmp_path / "in")
    target = shared / f"lingvis-{os.getpid()}-{tmp_path.name}"
    try:
        import_dataset("csv", source, target)
        assert (target / "images" / "a.jpg").read_bytes() == b"picture a.jpg"
        assert not (target / "images" / "a.jpg").samefile(tmp_path / "in" / "images" / "a.jpg")
    finally:
        subprocess.run(["rm", "-r", str(target)], check=True)


def test_the_same_import_again_changes_nothing(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    import_dataset("csv", source, tmp_path / "out")
    before = snapshot(tmp_path / "out")
    result = import_dataset("csv", source, tmp_path / "out")
    assert not result.changed
    assert snapshot(tmp_path / "out") == before
    # The source may have moved meanwhile.
    (tmp_path / "in").rename(tmp_path / "moved")
    assert not import_dataset("csv", tmp_path / "moved" / "t.csv", tmp_path / "out").changed
    assert snapshot(tmp_path / "out") == before


def test_a_changed_source_is_imported_again_and_features_survive(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    out = tmp_path / "out"
    import_dataset("csv", source, out)
    (out / "features" / "grid" / "deep").mkdir(parents=True)
    (out / "features" / "grid" / "deep" / "values.npy").write_bytes(b"vectors")
    (out / "notes.md").write_text("mine")
    make_source(tmp_path / "in", {"a.jpg": "A brown dog.", "x/b.jpg": "A cat."})
    assert import_dataset("csv", source, out).changed
    assert Dataset.open(out).rows[0].captions == {"en": ("A brown dog.",)}
    assert (out / "features" / "grid" / "deep" / "values.npy").read_bytes() == b"vectors"
    assert (out / "notes.md").read_text() == "mine"
    before = content(out)
    make_source(tmp_path / "in", {"a.jpg": "A brown dog.", "c.jpg": "New."})
    assert "no longer match" in refused("csv", source, out)
    assert content(out) == before
    import_dataset("csv", source, out, force=True)
    assert [row.image for row in Dataset.open(out).rows] == ["a.jpg", "c.jpg"]
    assert not (out / "features").exists()
    assert not (out / "images" / "x").exists()
    assert (out / "notes.md").read_text() == "mine"


def test_a_changed_picture_is_noticed(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    import_dataset("csv", source, tmp_path / "out")
    picture = tmp_path / "in" / "images" / "a.jpg"
    picture.unlink()  # written anew, as programs that save pictures do
    picture.write_bytes(b"a better picture")
    assert import_dataset("csv", source, tmp_path / "out").changed
    assert (tmp_path / "out" / "images" / "a.jpg").read_bytes() == b"a better picture"


def test_a_target_with_a_missing_picture_is_mended(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    import_dataset("csv", source, tmp_path / "out")
    (tmp_path / "out" / "features").mkdir()
    (tmp_path / "out" / "features" / "grid").mkdir()
    (tmp_path / "out" / "features" / "grid" / "v").write_bytes(b"v")
    (tmp_path / "out" / "images" / "a.jpg").unlink()
    assert import_dataset("csv", source, tmp_path / "out").changed
    assert len(Dataset.open(tmp_path / "out").rows) == 2
    assert (tmp_path / "out" / "features" / "grid" / "v").read_bytes() == b"v"


def test_edited_captions_are_not_overwritten(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    import_dataset("csv", source, tmp_path / "out")
    file = tmp_path / "out" / "captions.jsonl"
    file.write_text(file.read_text().replace("dog", "poodle"))
    assert "were edited after the import" in refused("csv", source, tmp_path / "out")
    (tmp_path / "out" / "images" / "a.jpg").unlink()
    assert "were edited after the import" in refused("csv", source, tmp_path / "out")
    assert "poodle" in file.read_text()
    import_dataset("csv", source, tmp_path / "out", force=True)
    assert "poodle" not in file.read_text()


def test_a_target_made_otherwise_needs_force(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    other = make_source(tmp_path / "other", {"a.jpg": "Something else."})
    out = tmp_path / "out"
    import_dataset("csv", source, out)
    before = content(out)
    assert "was not imported from" in refused("csv", other, out)
    assert "was not imported from" in refused("csv", source, out, split="val")
    (out / "import.json").unlink()
    assert "was not imported from" in refused("csv", source, out)
    assert content(out) == {name: value for name, value in before.items() if name != "import.json"}
    import_dataset("csv", other, out, force=True)
    assert [row.image for row in Dataset.open(out).rows] == ["a.jpg"]


def test_not_even_force_empties_a_folder_that_is_no_dataset(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    home = tmp_path / "home"
    home.mkdir()
    assert import_dataset("csv", source, home).changed  # empty: fine
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "letter.txt").write_text("dear")
    assert "holds other files and is not a dataset" in refused("csv", source, tmp_path / "docs", force=True)
    assert content(tmp_path / "docs") == {"letter.txt": b"dear"}
    assert "is a file" in refused("csv", source, tmp_path / "docs" / "letter.txt", force=True)


@pytest.mark.parametrize("target", ["in", "in/out", "."])
def test_source_and_target_may_not_lie_in_one_another(tmp_path: Path, target: str) -> None:
    make_source(tmp_path / "in")
    before = content(tmp_path)
    text = refused("folder", tmp_path / "in", tmp_path / target, language="en", force=True)
    assert "contain one another" in text
    assert content(tmp_path) == before


def test_missing_and_ambiguous_pictures(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    (tmp_path / "in" / "images").rename(tmp_path / "photos")
    text = refused("csv", source, tmp_path / "out")
    assert "none of the 2 pictures is below" in text
    assert "set images to the folder" in text
    assert not (tmp_path / "out").exists()
    (tmp_path / "photos" / "deep").mkdir()
    (tmp_path / "photos" / "x" / "b.jpg").rename(tmp_path / "photos" / "deep" / "b.jpg")
    result = import_dataset("csv", source, tmp_path / "out", images=tmp_path / "photos")
    assert (result.dataset.images_dir / "x" / "b.jpg").read_bytes() == b"picture x/b.jpg"
    (tmp_path / "photos" / "b.jpg").write_bytes(b"")
    text = refused("csv", source, tmp_path / "out2", images=tmp_path / "photos")
    assert "as b.jpg and deep/b.jpg; keep one" in text
    assert "no folder of pictures" in refused("csv", source, tmp_path / "out2", images=tmp_path / "no")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"format": "tables"}, "unknown import format 'tables'; choose one of: coco, csv, folder"),
        ({"language": "english"}, "language: bad language code 'english'"),
        ({"split": "x"}, "split: unknown split 'x'"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, str], expected: str) -> None:
    source = make_source(tmp_path / "in")
    format = options.pop("format", "csv")
    assert expected in refused(format, source, tmp_path / "out", **options)


def test_a_path_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        source = make_source(folder)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    text = refused("csv", source, tmp_path / "out")
    assert "the import: the path" in text
    assert "cannot be written as UTF-8" in text
    assert text.encode()
    assert not (tmp_path / "out").exists()


def test_a_target_behind_a_link_is_written_where_it_lies(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    (tmp_path / "big disk").mkdir()
    (tmp_path / "out").symlink_to("big disk/set")
    for text in ("A dog.", "A fox."):
        make_source(tmp_path / "in", {"a.jpg": text})
        assert import_dataset("csv", source, tmp_path / "out").changed
        assert (tmp_path / "out").is_symlink()
        assert Dataset.open(tmp_path / "big disk" / "set").rows[0].captions == {"en": (text,)}
    assert os.listdir(tmp_path / "big disk") == ["set"]


def test_an_import_that_fails_late_leaves_the_old_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    array = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.save(folder / "train_ims.npy", array)
    (folder / "train_caps.txt").write_text("a\nb\n")
    out = tmp_path / "out"
    import_dataset("precomp", folder, out, write_features=write_features)
    before = snapshot(out)

    def fails(target: Path, names: list[str], arrays: Iterable[NDArray[Any]]) -> None:
        write_features(target, names, arrays)
        raise OSError("No space left on device")

    (folder / "train_caps.txt").write_text("a\nc\n")
    with pytest.raises(OSError, match="No space left"):
        import_dataset("precomp", folder, out, write_features=fails)
    assert snapshot(out) == before
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_features_of_precomp_are_written_and_renewed(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(folder / "train_ims.npy", np.repeat(array, 2, axis=0))
    (folder / "train_caps.txt").write_text("a\nb\nc\nd\ne\nf\n")
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="write_features"):
        import_dataset("precomp", folder, out)
    result = import_dataset("precomp", folder, out, write_features=write_features)
    assert [row.captions["en"] for row in result.dataset.rows] == [("a", "b"), ("c", "d"), ("e", "f")]
    stored = out / "features" / "precomp"
    assert json.loads((stored / "names.json").read_text()) == [row.image for row in result.dataset.rows]
    np.testing.assert_array_equal(np.load(stored / "values.npy"), array[:, None])
    assert not (out / "images").exists()
    assert not import_dataset("precomp", folder, out, write_features=write_features).changed
    (out / "features" / "mine").mkdir()
    (out / "features" / "mine" / "v").write_bytes(b"v")
    np.save(folder / "train_ims.npy", np.repeat(array + 1, 2, axis=0))
    assert import_dataset("precomp", folder, out, write_features=write_features).changed
    np.testing.assert_array_equal(np.load(stored / "values.npy"), array[:, None] + 1)
    assert (out / "features" / "mine" / "v").read_bytes() == b"v"


def test_a_killed_import_leaves_the_old_dataset_and_can_be_repeated(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    np.save(folder / "train_ims.npy", np.arange(8, dtype=np.float32).reshape(2, 4))
    (folder / "train_caps.txt").write_text("a\nb\n")
    import_dataset("precomp", folder, out, write_features=write_features)
    before = content(out)
    (folder / "train_caps.txt").write_text("a\nc\n")
    program = textwrap.dedent(
        """
        import sys
        from lingvis.data.importers import import_dataset

        def write(folder, names, arrays):
            folder.mkdir(parents=True)
            (folder / "half").write_text("half")
            print("writing", flush=True)
            sys.stdin.read()

        import_dataset("precomp", sys.argv[1], sys.argv[2], write_features=write)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder), str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert content(out) == before
    assert import_dataset("precomp", folder, out, write_features=write_features).changed
    assert Dataset.open(out).rows[1].captions == {"en": ("c",)}


def test_importing_the_formats_loads_nothing_heavy() -> None:
    heavy = ("torch", "pyarrow", "PIL", "matplotlib")
    program = f"import sys, lingvis.data.importers; print(*(m for m in {heavy} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_problem_is_reported_at_once_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_source(tmp_path / "in")
    lines = [
        "image,caption,lang,split",
        "a.jpg,A dog.,en,train",
        "x/b.jpg,A cat.,english,train",
        "x/b.jpg,A cat.,en,exam",
        ",A cat.,en,train",
        "x/b.jpg,A cat.,en,train,more",
        "gone.jpg,A cow.,en,val",
        "../out.jpg,A bird.,en,val",
        "a.jpg,A dog.,en,test",
    ]
    source.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit) as stopped:
        main(["data", "import", "csv", str(source), str(tmp_path / "out")])
    assert stopped.value.code == 2
    first, *problems = capsys.readouterr().err.splitlines()
    assert first == f"lingvis: {source} has 7 problems; nothing was written, fix them and import again:"
    starts = [
        "t.csv, line 3: bad language code 'english'",
        "t.csv, line 4: unknown split 'exam'",
        "t.csv, line 5: the image is empty",
        "t.csv, line 6: 5 cells for 4 columns",
        "t.csv, line 9: image 'a.jpg' is in split test here but in train in t.csv, line 2",
        "t.csv, line 8: image: bad image name '../out.jpg'",
        f"t.csv, line 7: picture gone.jpg is not below {tmp_path / 'in'}",
    ]
    for problem in problems:
        assert any(problem.strip().startswith(start) for start in starts), problem
    assert len(problems) == 7 and not (tmp_path / "out").exists()
    source.write_text("image,caption,lang\n" + "".join(f"{number}.jpg,A,x{number}\n" for number in range(50)))
    with pytest.raises(UserError) as caught:
        import_dataset("csv", source, tmp_path / "out")
    assert len(caught.value.lines) == 22 and caught.value.lines[-1] == "  and 30 more"
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_all_missing_pictures_are_one_problem(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    (tmp_path / "empty").mkdir()
    sentence = refused("csv", source, tmp_path / "out", images=tmp_path / "empty")
    assert sentence == (
        f"none of the 2 pictures is below {tmp_path / 'empty'} (a.jpg, x/b.jpg); name the right folder in images"
    )


def test_a_dataset_of_an_earlier_version_is_recognised_by_the_new_names(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    import_dataset("csv", source, tmp_path / "out")
    record = tmp_path / "out" / "import.json"
    record.write_text(record.read_text().replace('"csv"', '"table"'))
    assert not import_dataset("csv", source, tmp_path / "out").changed
    assert "unknown import format 'table'; choose one of: coco, csv, folder" in refused(
        "table", source, tmp_path / "new"
    )
