"""A collection that gets another model while it is asked."""

from __future__ import annotations

from lingvis.collection.stores.contract import Header
from lingvis.errors import UserError


class UnavailableError(UserError):
    """The store cannot answer, whatever it is asked."""


class RebuiltError(UnavailableError):
    """The collection has another model since it was opened."""


def check_rebuilt(collection: str, ours: Header | None, now: Header) -> None:
    """Refuse answers of a collection that another image side has filled; ours: of the model that asks, once loaded."""
    if ours is not None and now.image_fingerprint != ours.image_fingerprint:
        raise RebuiltError(f"collection {collection} was rebuilt with another model; open it again")


def is_newer(ours: Header | None, now: Header) -> bool:
    """Whether the collection has gone over to another text side: a language was added, say."""
    return ours is not None and now.text_fingerprint not in ("", ours.text_fingerprint)


def check_captions(collection: str, ours: Header, now: Header, *, follows: bool) -> None:
    """Captions can only be compared with words of the same text side; follows: the model is the collection's own."""
    if follows and is_newer(ours, now):
        raise RebuiltError(f"collection {collection} has a newer model; open it again")
    if not same_captions(now.text_fingerprint, ours.text_fingerprint):
        state = "were" if now.text_fingerprint else "are being"
        raise UserError(
            f"the captions of collection {collection} {state} embedded by another text side; bring them up to date "
            f"with: lingvis index {collection} FOLDER... --model {now.model if follows else ours.model}"
        )


def same_captions(stored: str, ours: str) -> bool:
    """Whether captions that one text side embedded are good for another: a language may have been added to either.

    Text fingerprints are made in index/model.py: the model's own side first, then LANG=HASH of added languages.
    """
    (own, *some), (other, *more) = stored.split(" "), ours.split(" ")
    one, two = (dict(each.split("=") for each in listed) for listed in (some, more))
    return own == other and all(one[lang] == two[lang] for lang in one.keys() & two.keys())
