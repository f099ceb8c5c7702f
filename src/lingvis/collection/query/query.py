"""A query: words, a picture, or both, and words that must not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lingvis.collection.query.negatives import split_all
from lingvis.data.picture_input import PictureInput
from lingvis.errors import UserError
from lingvis.features.pictures import DecodedPicture
from lingvis.text.translators.contract import Translator

QueryImage = PictureInput | DecodedPicture


@dataclass(frozen=True, slots=True)
class Query:
    """Sentences, a picture, or both.

    image: a path, bytes, an open file, an image of Pillow, an array or a decoded picture; weight: share of the
    sentences if there is also a picture; lang: language of the sentences, None to detect it; translator: adds the
    sentences in the model's other languages; prefer: languages that the user probably writes, for the detection; like: id
    of a picture of the collection, in place of `image`; without: terms that must not fit.
    """

    texts: Sequence[str] = ()
    image: QueryImage | None = None
    weight: float = 0.5
    lang: str | None = None
    translator: Translator | None = None
    prefer: Sequence[str] = ()
    like: str | None = None
    without: Sequence[str] = ()

    @property
    def has_words(self) -> bool:
        """Whether a sentence is more than spaces."""
        return any(text.strip() for text in self.texts)

    def check(self) -> None:
        """Raise for an empty query or an invalid weight."""
        if not 0 <= self.weight <= 1:
            raise UserError(
                f"weight must be between 0 (the picture alone) and 1 (the words alone), got {self.weight}"
            )
        if self.image is not None and self.like is not None:
            raise UserError("`image` and `like` are both pictures to search with; leave one of them out")
        if self.image is None and self.like is None and not self.has_words:
            if self.without:
                raise UserError(
                    f"there is nothing to search for, only something to leave out ({', '.join(self.without)}); add words "
                    "or a picture"
                )
            raise UserError("there is nothing to search for; give words or a picture")


def make_query(
    text: str | Sequence[str] | None,
    image: QueryImage | None,
    weight: float,
    lang: str | None,
    translator: Translator | None,
    like: str | None = None,
    without: str | Sequence[str] | None = None,
    prefer: Sequence[str] = (),
) -> Query:
    """Return a query; a word with a minus in `text`, as in "dog -beach", counts as one of `without`."""
    texts, terms = split_all(as_texts(text))
    others = [term for term in as_texts(without) if term.strip()]
    return Query(
        texts, image, weight, lang, translator, prefer, like, tuple(dict.fromkeys((*terms, *others)))
    )


def as_texts(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one sentence, several or none as a tuple."""
    return (text,) if isinstance(text, str) else tuple(text or ())
