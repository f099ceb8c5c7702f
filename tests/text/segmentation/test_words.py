"""Words without ICU are the words of ICU."""

from __future__ import annotations

import random
import subprocess
import sys
import unicodedata
from collections import defaultdict

import pytest
from icu4py.breakers import WordBreaker

from lingvis.text.segment import JOINER, normalised, words
from lingvis.text.segmentation.dictionary import entries, stored
from lingvis.text.segmentation.pieces import pieces
from lingvis.text.segmentation.rules import rules

LANGS = ["en", "zh", "ja", "ko", "fi", "sv", "el", "he", "ar", "bo", "mn", "zh-Hant", "pt-BR", "th", "xx", ""]
LONG_MARK, SIGNS = "ー", set("〱〲〳〴〵゠")  # together they are the one case where ICU may differ


@pytest.fixture(scope="module", autouse=True)
def _icu_with_its_engine() -> None:
    """ICU divides a text that begins with ー differently before it has seen any Chinese or Japanese."""
    list(WordBreaker("中文", "zh"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("can't stop rock'n'roll 'quoted' o’clock", "can't|stop|rock'n'roll|quoted|o’clock"),
        ("3,14 1.000.000 1:30 a:b a.b a,b 5a a5 1'000", "3,14|1.000.000|1|30|a:b|a.b|a|b|5a|a5|1'000"),
        ("snake_case _x_ __ e-mail", "snake_case|_x_|e|mail"),
        ("œuvre ſtraße ﬁn Ⅳ ½ x² ①", "œuvre|straße|fin|iv|1⁄2|x2|1"),
        ("Příliš žluťoučký kůň", "příliš|žluťoučký|kůň"),
        ("собака бежит по траве", "собака|бежит|по|траве"),
        ("שלום ארה\"ב צ'ק ג'", "שלום|ארה\"ב|צ'ק|ג'"),
        ("نۇرغۇن ئادەم؛ قىزىل", "نۇرغۇن|ئادەم|قىزىل"),
        ("كَلْبٌ أَسْوَد، ٣٫٥", "كَلْبٌ|أَسْوَد|٣٫٥"),
        ("कुत्ता दौड़ रहा है।", "कुत्ता|दौड़|रहा|है"),
        ("ཁྱི་ནག་པོ་ཞིག", "ཁྱི|ནག|པོ|ཞིག"),
        ("ᠬᠤᠶᠠᠷ ᠨᠣᠬᠠᠢ᠂ ᠭᠦᠶᠦᠵᠦ ᠪᠠᠢᠨ᠎ᠠ", "ᠬᠤᠶᠠᠷ|ᠨᠣᠬᠠᠢ|ᠭᠦᠶᠦᠵᠦ|ᠪᠠᠢᠨ᠎ᠠ"),
        ("개가 공원에서 뛰어요", "개가|공원에서|뛰어요"),
        ("一个穿红色T恤的小女孩在2010年跑步", "一个|穿|红色|t|恤|的|小|女孩|在|2010|年|跑步"),
        ("東京スカイツリーでｱｲｽｸﾘｰﾑを食べる", "東京|スカイ|ツリー|で|アイスクリーム|を|食べる"),
        ("コンピューター_abc ーあ 𠮷野家", "コンピューター_abc|ー|あ|𠮷|野家"),
        ("👩‍👩‍👧 🇩🇪🇫🇷 ok 👍🏽", "ok"),
    ],
)
def test_words_of_many_scripts(text: str, expected: str) -> None:
    assert words(text, "en") == expected.split("|") == by_icu(text, "en")


@pytest.mark.parametrize("text", ["สุนัขวิ่งเล่น", "ໝາແລ່ນ", "ឆ្កែរត់", "ခွေးပြေးသည်", "a dog หมา runs"])
def test_scripts_with_other_dictionaries_are_divided_by_icu(text: str) -> None:
    assert words(text, "th") == by_icu(text, "th")


def test_without_icu_only_those_scripts_are_an_error() -> None:
    code = (
        "import sys; sys.modules['icu4py'] = None\n"
        "from lingvis.errors import UserError\n"
        "from lingvis.text.segment import words\n"
        "print(words('A dog, 狗在跑步', 'en'))\n"
        "try: words('a หมา', 'th')\n"
        "except UserError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines() == [
        "['a', 'dog', '狗', '在', '跑步']",
        "'หมา' has Thai, Lao, Khmer or Burmese letters, whose words only the package icu4py finds; "
        "run: pip install 'lingvis[icu]'",
    ]


def test_odd_text_has_the_pieces_of_icu() -> None:
    generator = random.Random(0)
    characters = defaultdict(list)
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co"):
            characters[rules().kinds[code]].append(chr(code))
    kinds = sorted(set(characters) - set(rules().icu))
    firsts = [chr(code) for code in stored().firsts]
    for _ in range(4000):
        few = [generator.choice(characters[generator.choice(kinds)]) for _ in range(5)]
        few += [*"a0'._ \"", JOINER, *generator.choices(firsts, k=4)]
        few.append(few[-1] + generator.choice(list(entries(few[-1])[0])))
        text = normalised("".join(generator.choices(few, k=generator.randint(1, 20))))
        if LONG_MARK in text and SIGNS & set(text):
            continue
        lang = generator.choice(LANGS)
        assert list(pieces(text, lang)) == list(WordBreaker(text, lang)), ascii(text)
        assert words(text, lang) == by_icu(text, lang), ascii(text)


def by_icu(text: str, lang: str) -> list[str]:
    return [piece for piece in WordBreaker(normalised(text), lang) if any(map(str.isalnum, piece))]
