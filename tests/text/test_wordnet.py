"""WordNet's files: synonyms, regular and irregular forms, and files that are something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.text.lexicon.wordnet import WordNet

NOUNS = """\
  1 This is where the licence stands.
02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 002 @ 02083346 n 0000 ~ 01322604 n 0000 | a pet
07676602 13 n 02 hot_dog 0 dog 0 001 @ 07675627 n 0000 | a sausage
04256520 06 n 02 sofa 0 couch 0 000 | a seat | for two
10287213 18 n 02 man 0 adult_male 0 000 | he
03345487 06 n 02 fire_engine 0 fire_truck 0 000 | red
02958343 06 n 0b car 0 auto 0 automobile 0 machine 0 motorcar 0 a1 0 a2 0 a3 0 a4 0 a5 0 last 0 000 | eleven
03438257 06 n 01 glass 0 000 | for drinking
04272054 06 n 01 glasses 0 000 | for reading
"""
ADJECTIVES = """\
00381097 00 s 02 red 0 crimson 0 000 | of a colour
01382086 00 a 02 large 0 big 0 000 | of size
00014490 00 a 01 afloat(p) 0 000 | on water
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.noun").write_text(NOUNS)
    (tmp_path / "data.adj").write_text(ADJECTIVES)
    (tmp_path / "noun.exc").write_text("oxen ox\nmen-of-war man-of-war\n")
    (tmp_path / "adj.exc").write_text("bigger big\n")
    return tmp_path


def test_synonyms_are_all_words_of_all_synsets(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.synonyms("dog") == {"dog", "domestic dog", "canis familiaris", "hot dog"}
    assert wordnet.synonyms("couch") == {"sofa", "couch"}
    assert wordnet.synonyms("fire engines") == {"fire engine", "fire truck"}
    assert wordnet.synonyms("crimson") == {"red", "crimson"}
    assert wordnet.synonyms("afloat") == {"afloat"}  # without the mark of where it stands
    assert wordnet.synonyms("licence") == set()
    assert len(wordnet.synonyms("car")) == 11  # the number of words is hexadecimal


def test_forms_lead_to_what_is_known(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.bases("dogs", "noun") == ["dog"]
    assert wordnet.bases("men", "noun") == ["man"]
    assert wordnet.bases("glasses", "noun") == ["glasses", "glass"]
    assert wordnet.bases("oxen", "noun") == []  # an ox is no word of this file
    assert wordnet.bases("bigger", "adj") == ["big"]  # irregular: no rule makes "bigg" out of it
    assert wordnet.bases("larger", "adj") == ["large"]
    assert wordnet.bases("larger", "noun") == []


def test_other_files_have_another_checksum(folder: Path) -> None:
    before = WordNet(folder).checksum
    assert WordNet(folder).checksum == before
    (folder / "noun.exc").write_text("oxen dog\n")
    assert WordNet(folder).checksum != before


def test_wrong_files_get_a_sentence(folder: Path) -> None:
    with pytest.raises(UserError, match=r"data\.noun cannot be read: No such file.*package wordnet-base"):
        WordNet(folder / "elsewhere")
    (folder / "data.noun").write_text(NOUNS + "02084071 05 n 03 dog 0\n")
    with pytest.raises(
        UserError, match=r"data\.noun, line 10 is not a synset of WordNet: '02084071 05 n 03 dog 0'"
    ):
        WordNet(folder)
    (folder / "data.noun").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"data\.noun is not UTF-8 at byte 0"):
        WordNet(folder)
