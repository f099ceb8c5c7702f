"""Names that nobody writes give way to more general ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.text.lexicon.hypernyms import Hypernyms
from tests.text.hypernym_files import INDEX, NOUNS, write_wordnet


@pytest.fixture
def hypernyms(tmp_path: Path) -> Hypernyms:
    return Hypernyms(write_wordnet(tmp_path))


@pytest.mark.parametrize(
    ("name", "used", "word"),
    [
        ("Saluki", {"dog": 9, "animal": 99}, "dog"),  # the nearest, not the most frequent
        ("Saluki", {"hound": 1, "dog": 9}, "hound"),
        ("Saluki", {"saluki": 1, "dog": 9}, "Saluki"),  # in use itself
        ("Saluki", {"carnivore": 9}, "carnivore"),  # four steps up
        ("Saluki", {"animal": 9}, "Saluki"),  # five
        ("Saluki", {}, "Saluki"),
        ("couch", {"sofa": 3, "object": 9}, "sofa"),  # another word for the same
        ("boxer", {"dog": 3, "fighter": 9}, "dog"),  # detectors name things, not people
        ("bishop", {"chessman": 1, "fighter": 9}, "chessman"),  # the tenth word, and the count is hexadecimal
        ("beaver", {"hat": 9, "animal": 1}, "animal"),  # and animals before hats
        ("Cardigan", {"sweater": 9, "dog": 1}, "dog"),  # spelled like the breed
        ("cardigan", {"sweater": 1, "dog": 9}, "sweater"),
        ("Chihuahua", {"toy": 1, "dog": 9}, "toy dog"),  # of two that are as frequent the longer name
        ("Chihuahua", {"toy": 9, "dog": 1}, "toy"),
        ("pugilist", {"fighter": 9}, "fighter"),  # unless there is no such thing
        ("crystal ball", {"crystal": 1, "ball": 2}, "crystal ball"),  # both words are in use
        ("crystal ball", {"ball": 2}, "ball"),
        ("gyroscope", {"ball": 2}, "gyroscope"),  # WordNet does not know it
    ],
)
def test_the_nearest_word_in_use(hypernyms: Hypernyms, name: str, used: dict[str, int], word: str) -> None:
    assert hypernyms.everyday(name, used) == word


def test_of_two_words_for_a_thing_the_one_used_more(tmp_path: Path) -> None:
    folder = write_wordnet(tmp_path)
    before = Hypernyms(folder).checksum
    (folder / "data.noun").write_text(NOUNS.replace("Saluki 0 gazelle_hound", "runner 0 racer"))
    other = Hypernyms(folder)
    assert other.everyday("saluki", {"runner": 2, "racer": 3}) == "racer"
    assert other.everyday("saluki", {"runner": 4, "racer": 3}) == "runner"
    assert other.checksum != before


@pytest.mark.parametrize(
    ("file", "text", "match"),
    [
        (
            "data.noun",
            NOUNS + "00000030 05 n 02 cat 0\n",
            r"data\.noun, line 26 is not a synset of WordNet: '00000030 05 n 02 cat 0'",
        ),
        (
            "data.noun",
            NOUNS + "00000030 05 n 01 cat 0 002 @ 00000002 n 0000 | one of two\n",
            r"data\.noun, line 26 is not a synset of WordNet",
        ),
        ("data.noun", NOUNS + "00000030 05 n 01 cat 0 001 @ 99 n 0000\n", r"data\.noun points to nouns that"),
        (
            "index.noun",
            INDEX + "cat n 1 1 @ 1 0 99999999\n",
            r"index\.noun, line 12 is not a noun of WordNet",
        ),
        ("index.noun", INDEX + "cat\n", r"index\.noun, line 12 is not a noun of WordNet: 'cat'"),
        ("index.noun", "  1 The licence.\n", r"index\.noun has no nouns; download the file again"),
    ],
)
def test_wrong_files_get_a_sentence(tmp_path: Path, file: str, text: str, match: str) -> None:
    folder = write_wordnet(tmp_path)
    (folder / file).write_text(text)
    with pytest.raises(UserError, match=match):
        Hypernyms(folder)
    (folder / file).unlink()
    with pytest.raises(
        UserError, match=rf"cannot be read: No such file.*name the folder with {file}, .*package wordnet-base"
    ):
        Hypernyms(folder)
