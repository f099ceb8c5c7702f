"""Dictionary files of all formats, their damage, and the choice of one translation a word."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.text.dictionaries import find_dictionaries, read_dictionary

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

GERMAN = {
    "00databaseinfo": "About\n hidden, text\n",
    "hund": "Hund /hʊnt/ <masc, n, sg>\nmine tub <n>, tub <n> [Br.] , corf <n>\n   Synonyms: {Hunt}\n\n see: {Hunde}\n\n",
    "hund ": "Hund /hʊnt/ <masc, n, sg>\n [zool.] Dog <n>, tub (for ore; old)\n         Note: a pet, bark\n"
    '      "Der Hund"  - the hound\n',
    "abri": "abri <n>\n1. asylum\n2. bunker, shelter; place of refuge\n",
    "gehts": "geht's /ɡeːts/\n goes\n",
    "zu fuß": "zu Fuß\nafoot\n",
    "übel": "Übel\nevil،ill\n",
}


def offset_digits(value: int) -> str:
    """The dictd way of writing a number, by divisions."""
    return (offset_digits(value // 64) if value >= 64 else "") + DIGITS[value % 64]


def write_dictd(folder: Path, stem: str, entries: dict[str, str], *, packed: bool = True) -> Path:
    """Both files; the index is sorted by word, the text is in the order of `entries`."""
    text, lines = b"", []
    for word, entry in entries.items():
        lines.append(f"{word}\t{offset_digits(len(text))}\t{offset_digits(len(entry.encode()))}\n")
        text += entry.encode()
    if packed:
        (folder / f"{stem}.dict.dz").write_bytes(gzip.compress(text))
    else:
        (folder / f"{stem}.dict").write_bytes(text)
    index = folder / f"{stem}.index"
    index.write_text("".join(sorted(lines)), encoding="utf-8")
    return index


@pytest.mark.parametrize("packed", [True, False])
def test_dictd(tmp_path: Path, packed: bool) -> None:
    index = write_dictd(tmp_path, "freedict-deu-eng", GERMAN, packed=packed)
    found = read_dictionary(index)
    assert found == {
        "hund": ("mine tub", "tub", "corf", "dog"),
        "abri": ("asylum", "bunker", "shelter", "place of refuge"),
        "gehts": ("goes",),
        "geht's": ("goes",),
        "zu fuß": ("afoot",),
        "übel": ("evil", "ill"),
    }
    text = index.with_name("freedict-deu-eng.dict.dz" if packed else "freedict-deu-eng.dict")
    assert read_dictionary(text) == found


def test_offsets_of_several_digits(tmp_path: Path) -> None:
    entries = {f"wort{number}": f"Wort{number}\nword{number}\n" for number in range(600)}
    index = write_dictd(tmp_path, "de-en", entries)
    assert max(len(line.split("\t")[1]) for line in index.read_text().splitlines()) == 3
    assert read_dictionary(index) == {f"wort{number}": (f"word{number}",) for number in range(600)}


def test_muse_text(tmp_path: Path) -> None:
    path = tmp_path / "de-en.txt"
    path.write_text(
        "\ufeffHund dog\r\nHund hound\nHund dog\n\nＡＢＣ\tice cream\nzu Fuß\tafoot\n", encoding="utf-8"
    )
    assert read_dictionary(path) == {"hund": ("dog", "hound"), "abc": ("ice cream",), "zu fuß": ("afoot",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hund dog\nkatze\n", "line 2: 1 fields in 'katze'"),
        (b"hund dog\n\nice cream eis\n", "line 3: 3 fields"),
        (b"hund\tdog\tcat\n", "line 1: 3 fields"),
        (b"hund\t\n", "line 1: 2 fields"),
        (b"h\xfcndin dog\n", "is not UTF-8"),
        (b"\n \n", "has no translations"),
    ],
)
def test_bad_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "de-en.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(message)):
        read_dictionary(path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_dictionary(tmp_path / "de-en.txt")
    index = write_dictd(tmp_path, "de-en", GERMAN)
    index.with_name("de-en.dict.dz").rename(tmp_path / "moved.dict.dz")
    with pytest.raises(UserError, match=r"neither .*de-en\.dict nor de-en\.dict\.dz exists"):
        read_dictionary(index)
    with pytest.raises(UserError, match=r"moved\.index cannot be read: No such file"):
        read_dictionary(tmp_path / "moved.dict.dz")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"hund\tA\n", "line 1: 'hund\\tA' is not a word"),
        (b"abri\tA\tB\nhund\tA\tB-\n", "line 2: 'hund\\tA\\tB-' is not a word"),
        (b"hund\t\tB\n", "line 1: 'hund\\t\\tB' is not a word"),
        (b"hund\tB\tK\n", "line 1: the entry of 'hund' ends at byte 11, but the text has 10"),
        (b"h\xfcnd\tA\tB\n", "is not UTF-8"),
        (b"hund\tA\tC\n", "the entry of 'hund' is not UTF-8"),
        (b"hund\tE\tD\n", "has no translations"),
    ],
)
def test_damaged_index(tmp_path: Path, index: bytes, message: str) -> None:
    (tmp_path / "de-en.dict").write_bytes("aü\nd,n\nx\n".encode())  # 10 bytes
    (tmp_path / "de-en.index").write_bytes(index)
    with pytest.raises(UserError, match=re.escape(message)):
        read_dictionary(tmp_path / "de-en.index")


def test_damaged_text(tmp_path: Path) -> None:
    index = write_dictd(tmp_path, "de-en", GERMAN)
    packed = tmp_path / "de-en.dict.dz"
    whole = packed.read_bytes()
    middle = len(whole) // 2
    for bad in (whole[:-20], b"no gzip", whole[:middle] + bytes(8) + whole[middle + 8 :]):
        packed.write_bytes(bad)
        with pytest.raises(UserError, match=r"de-en\.dict\.dz cannot be read"):
            read_dictionary(index)


def test_one_translation_a_word(tmp_path: Path) -> None:
    write_dictd(tmp_path, "freedict-deu-eng", GERMAN)
    first = find_dictionaries(tmp_path, ["de", "en", "ug"])
    # "mine tub" is no single word, "zu fuß" no word that a sentence is cut into.
    assert first == {
        "de": {"hund": "tub", "abri": "asylum", "gehts": "goes", "geht's": "goes", "übel": "evil"}
    }
    counted = find_dictionaries(tmp_path, ["de"], counts={"dog": 9, "corf": 2, "shelter": 1, "bunker": 1})[
        "de"
    ]
    assert (counted["hund"], counted["abri"], counted["übel"]) == ("dog", "bunker", "evil")


def test_names_and_directions(tmp_path: Path) -> None:
    write_dictd(tmp_path, "ces-eng", {"pes": "pes\ndog\n"})
    write_dictd(tmp_path, "freedict-eng-ces", {"hound": "hound\npes, chrt\n", "dog": "dog\npes\n"})
    (tmp_path / "en-fr.txt").write_text("cat chat\nchat chat\n", encoding="utf-8")
    (tmp_path / "pt-en.txt").write_text("cão dog\n", encoding="utf-8")
    write_dictd(tmp_path, "por-eng", {"gato": "gato\ncat\n"})
    (tmp_path / "sv-en.txt.bak").write_text("broken", encoding="utf-8")
    (tmp_path / "ug-en.csv").write_text("word,translation\nئىت,dog\n", encoding="utf-8")
    assert find_dictionaries(tmp_path, ["cs", "fr", "pt-BR", "sv", "ug"]) == {
        "cs": {"pes": "dog", "chrt": "hound"},
        "fr": {"chat": "cat"},
        "pt-BR": {"cão": "dog"},
        "ug": {"ئىت": "dog"},
    }
    assert find_dictionaries(tmp_path, ["en"], into="fr") == {"en": {"cat": "chat", "chat": "chat"}}
    assert find_dictionaries(tmp_path, ["en"]) == {}


def test_folder_without_dictionaries(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no dictionary from de, cs into en; name the files like de-en\.txt"):
        find_dictionaries(tmp_path, ["de", "cs"])
    with pytest.raises(UserError, match="is not a folder"):
        find_dictionaries(tmp_path / "none", ["de"])


@pytest.mark.parametrize("header", ["", "source,target\n", "\ufeffWord, Translation\n"])
def test_csv(tmp_path: Path, header: str) -> None:
    file = tmp_path / "de-en.csv"
    lines = 'Hund,Dog\r\n"zu Fuß","on foot, walking"\n\nhund,hound\n"sagte ""ja""",said yes\nhund,dog\n'
    file.write_bytes((header + lines).encode())
    assert read_dictionary(file) == {
        "hund": ("dog", "hound"),
        "zu fuß": ("on foot, walking",),
        'sagte "ja"': ("said yes",),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\nc\n", "line 2: 1 columns"),
        ("a,b,c\n", "line 1: 3 columns"),
        ("a,b\n\nc, \n", "line 3: 2 columns"),
        ('a,b\n"c,d\n', "close every quote"),
        ("word,translation\n", "no translations"),
    ],
)
def test_damaged_csv(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "de-en.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(sentence)):
        read_dictionary(file)
