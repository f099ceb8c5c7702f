"""A picture collection in use: questions in, pictures out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from lingvis.collection.binding import PictureSide, check, describe
from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.query.picture import decode_open
from lingvis.collection.query.question import Question
from lingvis.collection.query.translate import in_all_languages
from lingvis.collection.rebuilds import UnavailableError, check_captions, check_rebuilt, is_newer
from lingvis.collection.rerank.learned_consistency import check_asked, check_page, in_blocks, rerank
from lingvis.collection.rerank.second_model import Reranker, check_question, first_reordered
from lingvis.collection.stores.contract import Entry, Filter, Floats, Header, Hit, Statistics, Store
from lingvis.collection.stores.open import open_store, shown
from lingvis.data.formats import allow_heic
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.model.embedder import Embedder
from lingvis.text.translators.contract import Translator

EVERYTHING = Filter()
REMEMBERED = 1024  # questions whose vectors are kept: typing asks the same again and again


class Collection:
    """`Collection.open("photos.lv").search("ein Hund am Strand")`; the model is loaded by the first question.

    Several threads may ask at once.
    """

    def __init__(
        self, address: str, store: Store, *, model: Path | None = None, device: str | None = None
    ) -> None:
        self.address, self.store = shown(address), store
        self._address, self._run, self._device = address, model, device
        self._model: Embedder | None = None
        self._header: Header | None = None
        self._detector: LanguageDetector | None = None
        self._learned: LearnedConsistency | None = None
        # Apart, so that nobody who asks in words waits for a picture; each side computes for one thread at a time.
        self._loading, self._reading, self._looking = threading.RLock(), threading.Lock(), threading.Lock()
        self._encoded = lru_cache(maxsize=REMEMBERED)(self._encode_one)

    @classmethod
    def open(
        cls, address: str | Path, *, model: str | Path | None = None, device: str | None = None
    ) -> Collection:
        """Open a collection, with the model that filled it or another of the same image side."""
        run = Path(model) if model is not None else None
        return cls(str(address), open_store(str(address)), model=run, device=device)

    def reopened(self) -> Collection:
        """The same collection as it is now, with the model that fills it now."""
        return Collection.open(self._address, model=self._run, device=self._device)

    @property
    def outdated(self) -> bool:
        """Whether a newer model than the one that answers is there: captions can be asked for with that one alone."""
        return self._run is None and is_newer(self._header, self.store.header)

    @property
    def model(self) -> Embedder:
        """The model that answers."""
        with self._loading:
            return self._load() if self._model is None else self._model

    def _load(self) -> Embedder:
        run = self._run or Path(self.store.header.model)
        if self._run is None and not run.is_dir():
            raise UserError(
                f"the model of collection {self.address} is no longer at {run}; say where it is with --model RUN"
            )
        loaded = Embedder.load(run, device=self._device)
        header = describe(loaded, run)
        check(self.address, self.store.header, header)
        self._model, self._header = loaded, header
        return loaded

    def search(
        self,
        text: str | Sequence[str] | None = None,
        *,
        image: str | Path | BinaryIO | None = None,
        weight: float = 0.5,
        lang: str | None = None,
        translator: Translator | None = None,
        consistency: str = "mean",
        k: int = 10,
        offset: int = 0,
        where: Filter = EVERYTHING,
        in_captions: bool = False,
        rerank: Reranker | None = None,
    ) -> list[Hit]:
        """Pictures that fit best to a sentence, to all of several, to a picture, or to both.

        image: a file by its path, or open for reading; weight: share of the words where there is a picture, too;
        lang: detected where it is not given; translator: asks in the model's other languages too; consistency: how
        their scores become one (Burns et al. 2020), by their mean (CLC-A), which is the score of the mean vector, or
        learned (CLC-C), see index/consistent.py; in_captions: compare with the captions of the pictures instead of
        the pictures themselves; rerank: another model that the first 100 are put in order with, see index/rerank.py.
        """
        check_asked(consistency, translator)
        texts = [text] if isinstance(text, str) else list(text or [])
        if rerank is not None:
            check_question(
                words=texts, picture=image is not None, captions=in_captions, consistency=consistency
            )
            langs = [lang or self.language_of(each) for each in texts]
            rerank.check(langs)
        if in_captions:
            self._check_captions()
        learned = self._consistency() if consistency == "learned" else None
        asked = self._question(text, image=image, weight=weight, lang=lang, translator=translator)

        def find(k: int, offset: int) -> list[Hit]:
            return self._search(asked.together, k=k, offset=offset, where=where, captions=in_captions)

        if rerank is not None:

            def reorder(hits: list[Hit]) -> list[Hit]:
                return rerank.order(hits, texts, langs, self.thumbnail)

            hits = first_reordered(find, reorder, k=k, offset=offset)
        elif learned is None:
            hits = find(k, offset)
        else:
            order = self._order(asked, learned, captions=in_captions)
            hits = in_blocks(find, order, k=k, offset=offset)
        if in_captions:  # once more: another text side may have embedded them meanwhile
            self._check_captions()
        return hits

    def _order(
        self, asked: Question, learned: LearnedConsistency, *, captions: bool
    ) -> Callable[[list[Hit]], list[Hit]]:
        """What puts hits in the learnt order."""
        by_language = asked.by_language(learned.languages)

        def order(hits: list[Hit]) -> list[Hit]:
            with self._asking():
                vectors = self.store.vectors([hit.id for hit in hits], captions=captions)
            return rerank(hits, vectors, by_language, learned)

        return order

    def similar(self, id: str, *, k: int = 10, offset: int = 0, where: Filter = EVERYTHING) -> list[Hit]:
        """Pictures like one of the collection, without that one."""
        with self._asking():
            vector = self.store.vectors([id]).get(id)
        if vector is None:
            raise UserError(f"collection {self.address} has no picture {id!r}; take the id from a search")
        hits = self._search(vector, k=k + offset + 1, offset=0, where=where)
        others = [hit for hit in hits if hit.id != id][offset : offset + k]
        return [Hit(rank, hit.score, hit.entry) for rank, hit in enumerate(others, start=offset + 1)]

    def embed(
        self,
        text: str | Sequence[str] | None = None,
        *,
        image: str | Path | BinaryIO | None = None,
        weight: float = 0.5,
        lang: str | None = None,
        translator: Translator | None = None,
    ) -> Floats:
        """A question as one vector of unit length, float32 [dim]."""
        return self._question(text, image=image, weight=weight, lang=lang, translator=translator).together

    def _question(
        self,
        text: str | Sequence[str] | None,
        *,
        image: str | Path | BinaryIO | None,
        weight: float,
        lang: str | None,
        translator: Translator | None,
    ) -> Question:
        if not 0 <= weight <= 1:
            raise UserError(
                f"weight {weight} is not allowed; use 0 (the picture alone) to 1 (the words alone)"
            )
        texts = [text] if isinstance(text, str) else list(text or [])
        if image is None and not any(each.strip() for each in texts):
            raise UserError("there is nothing to search for; give words or a picture")
        words = [self._words(each, lang, translator) for each in texts]
        return Question(words, self._picture(image) if image is not None else None, weight)

    def _words(self, text: str, lang: str | None, translator: Translator | None) -> dict[str, Floats]:
        """The vectors of one sentence and of its translations, where there is a translator, by language."""
        code = self.language_of(text) if lang is None else self._known(lang)
        if translator is None:
            return {code: self._encoded(text, code)}
        asked = in_all_languages(text, code, self.model.languages, translator)
        return dict(zip(asked, self._encode(list(asked.values()), list(asked)), strict=True))

    def _encode_one(self, text: str, lang: str) -> Floats:
        return self._encode([text], [lang])[0]  # type: ignore[no-any-return]

    def _encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        with self._reading:
            return self.model.encode_texts(texts, langs)

    def _picture(self, image: str | Path | BinaryIO) -> Floats:
        allow_heic()
        with self._looking:
            if isinstance(image, str | Path):
                return self.model.encode_images([image])[0]  # type: ignore[no-any-return]
            side = PictureSide(self.model)
            return side([decode_open(image, side.preprocessing)])[0]  # type: ignore[no-any-return]

    def _consistency(self) -> LearnedConsistency:
        """What was learnt for the model that answers."""
        with self._loading:
            if self._learned is None:
                assert self.model is not None and self._header is not None
                self._learned = LearnedConsistency.load(Path(self._header.model))
            return self._learned

    def language_of(self, text: str) -> str:
        """The language of a question, among the model's."""
        with self._loading:
            if self._detector is None:
                self._detector = LanguageDetector(self.model.languages)
        return self._detector(text)

    def entry(self, id: str) -> Entry | None:
        """What is known of one picture."""
        with self._asking():
            return self.store.entry(id)

    def thumbnail(self, id: str) -> bytes | None:
        """A small JPEG of one picture."""
        with self._asking():
            return self.store.thumbnail(id)

    def statistics(self) -> Statistics:
        """Numbers of the collection."""
        with self._asking():
            return self.store.statistics()

    def __len__(self) -> int:
        with self._asking():
            return self.store.count()

    def _search(
        self, query: Floats, *, k: int, offset: int, where: Filter, captions: bool = False
    ) -> list[Hit]:
        check_page(k, offset)
        with self._asking():
            return self.store.search(query[None], k=k, offset=offset, where=where, captions=captions)[0]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Let nothing pass, neither result nor error, that comes of a rebuild by another model in the meantime."""
        try:
            yield
        except UserError as error:
            raise UnavailableError(str(error)) from error
        finally:
            check_rebuilt(self.address, self._header, self.store.header)

    def _known(self, lang: str) -> str:
        if lang not in self.model.languages:
            raise UserError(
                f"model {self.model.name} does not know language {lang!r}; it knows: {choices(self.model.languages)}"
            )
        return lang

    def _check_captions(self) -> None:
        assert self.model is not None and self._header is not None
        with self._asking():
            self.store.vectors([])  # asks for nothing, but sees the header as it is now
        check_captions(self.address, self._header, self.store.header, follows=self._run is None)
