"""Where the sentences of a picture come from."""

from __future__ import annotations

from typing import Literal

SentenceSource = Literal["captions", "parallel", "translated"]
# In words; `captions` are written by people, `translated` by machines.
KINDS: dict[SentenceSource, str] = {
    "captions": "captions",
    "parallel": "parallel sentences",
    "translated": "translated captions",
}
