"""A small WordNet of hypernyms."""

from __future__ import annotations

from pathlib import Path

NOUNS = """\
  1 This is where the licence stands.
00000001 03 n 01 object 0 000 | a thing
00000002 05 n 01 animal 0 001 @ 00000001 n 0000 | it lives
00000003 05 n 01 carnivore 0 001 @ 00000002 n 0000 | it eats meat
00000004 05 n 02 dog 0 domestic_dog 0 001 @ 00000003 n 0000 | a pet
00000005 05 n 01 hunting_dog 0 001 @ 00000004 n 0000 | it hunts
00000006 05 n 01 hound 0 001 @ 00000005 n 0000 | it hunts
00000007 05 n 02 Saluki 0 gazelle_hound 0 002 #m 00000002 n 0000 @ 00000006 n 0000 | it runs
00000008 18 n 01 boxer 0 001 @ 00000011 n 0000 | he fights
00000009 05 n 01 boxer 0 001 @i 00000004 n 0000 | a breed
00000010 06 n 02 couch 0 sofa 0 001 @ 00000001 n 0000 | a seat
00000011 18 n 01 fighter 0 000 | he fights
00000012 18 n 01 pugilist 0 001 @ 00000011 n 0000 | he fights
00000013 06 n 01 crystal_ball 0 001 @ 00000014 n 0000 | it tells
00000014 06 n 01 ball 0 001 @ 00000001 n 0000 | round
00000015 05 n 02 toy 0 Toy_dog 0 001 @ 00000004 n 0000 | a small dog
00000016 05 n 01 Chihuahua 0 001 @ 00000015 n 0000 | it barks
00000017 06 n 01 beaver 0 001 @ 00000018 n 0000 | a hat of fur
00000018 06 n 01 hat 0 001 @ 00000001 n 0000 | on the head
00000019 05 n 01 beaver 0 001 @ 00000002 n 0000 | it builds
00000020 06 n 01 cardigan 0 001 @ 00000021 n 0000 | of wool
00000021 06 n 01 sweater 0 001 @ 00000001 n 0000 | of wool
00000022 05 n 01 Cardigan 0 001 @ 00000004 n 0000 | a breed
00000023 18 n 01 bishop 0 001 @ 00000011 n 0000 | a cleric
00000024 06 n 0a bishop 0 b2 0 b3 0 b4 0 b5 0 b6 0 b7 0 b8 0 b9 0 chessman 0 001 @ 00000001 n 0000 | it moves
"""
INDEX = """\
  1 This is where the licence stands.
saluki n 1 1 @ 1 0 00000007
boxer n 2 1 @ 2 1 00000008 00000009
couch n 1 1 @ 1 0 00000010
hound n 1 1 @ 1 0 00000006
pugilist n 1 1 @ 1 0 00000012
crystal_ball n 1 1 @ 1 0 00000013
chihuahua n 1 1 @ 1 0 00000016
beaver n 2 1 @ 2 1 00000017 00000019
cardigan n 2 1 @ 2 1 00000020 00000022
bishop n 2 1 @ 2 1 00000023 00000024
"""


def write_wordnet(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "data.noun").write_text(NOUNS)
    (folder / "index.noun").write_text(INDEX)
    return folder
