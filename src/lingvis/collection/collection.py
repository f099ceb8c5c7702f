"""A picture collection: pictures are added from folders, and found by words or by a picture."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lingvis.arrays import Floats
from lingvis.collection.binding import ImageEmbedder, check_image_side
from lingvis.collection.model import CollectionModel
from lingvis.collection.query.encoder import QueryEncoder
from lingvis.collection.query.query import Query, QueryImage, as_texts
from lingvis.collection.rebuilds import (
    RebuiltError,
    UnavailableError,
    check_captions,
    check_rebuilt,
    is_newer,
)
from lingvis.collection.rerank.base import RerankContext, Reranker
from lingvis.collection.rerank.learned_consistency import LearnedConsistencyReranker, check_consistency
from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.open import create_store, open_store, shown, store_exists
from lingvis.collection.stores.records import (
    Filter,
    Header,
    Hit,
    PictureInfo,
    Statistics,
    check_page,
    page_of,
)
from lingvis.collection.writer.indexer import BATCH, Indexer, IndexReport, Spread, watch_folders
from lingvis.collection.writer.items import picture_id
from lingvis.errors import UserError, check_list
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.embedder import Embedder
from lingvis.pretrained import find_model
from lingvis.text.translators.contract import Translator

EVERYTHING = Filter()


class Collection:
    """`Collection.open("photos.lv").search("ein Hund am Strand")`.

    address: a folder, or postgresql://USER@HOST/DATABASE?collection=NAME. model: a model folder; None for the model that
    filled the collection, or lingvis-base if the collection is new. The constructor opens nothing: the store is opened,
    or made by `add`, and the model is loaded at first use. Several threads may search at once.
    """

    def __init__(
        self, address: str | Path, *, model: str | Path | None = None, device: str | None = None
    ) -> None:
        self.address = shown(address)
        self._address, self._device = str(address), device
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._model = CollectionModel(
            self.address, find_model(model) if model is not None else None, device, self._stored_header
        )
        self._encoder = QueryEncoder(self._model)

    @classmethod
    def open(
        cls, address: str | Path, *, model: str | Path | None = None, device: str | None = None
    ) -> Collection:
        """Open a collection, with the model that filled it or another of the same image side.

        device: cpu or cuda; a GPU is used when there is one.
        """
        collection = cls(address, model=model, device=device)
        collection._stored_header()
        return collection

    @classmethod
    def create(
        cls, address: str | Path, model: str | Path | None = None, *, device: str | None = None
    ) -> Collection:
        """Make an empty collection for a model, by default lingvis-base; raises UserError if there is one."""
        if store_exists(str(address)):
            raise UserError(f"collection {shown(address)} exists; open it, or name a new one")
        collection = cls(address, model=find_model(model), device=device)
        _, header = collection._model.load(filled=False)
        collection._store = create_store(str(address), header, replace=False)
        check_image_side(
            collection.address, collection._store.header, header
        )  # another process may have made it
        return collection

    def reopened(self) -> Collection:
        """Open the same collection again, with the model that fills it now."""
        return Collection.open(self._address, model=self._model.run, device=self._device)

    @property
    def store(self) -> Store:
        """The rows of the collection."""
        if self._store is None:
            with self._opening:
                self._store = self._store or open_store(self._address)
        return self._store

    @property
    def model(self) -> Embedder:
        """The model that encodes pictures and queries."""
        return self._model.embedder

    @property
    def preprocessing(self) -> Preprocessing:
        """How pictures are prepared for the model, to decode a picture before a search."""
        return ImageEmbedder(self._model.embedder).preprocessing

    @property
    def outdated(self) -> bool:
        """Whether the collection has a newer model; captions can then be searched only with the newer one."""
        return self._model.run is None and is_newer(self._model.header, self.store.header)

    def add(
        self,
        folders: Sequence[str | Path],
        *,
        prune: bool = False,
        rebuild: bool = False,
        follow_links: bool = False,
        batch_size: int = BATCH,
        spread: Spread | None = None,
    ) -> IndexReport:
        """Add new pictures of these folders, at any depth, and update changed ones; can be stopped at any moment.

        The collection is made if it does not exist. prune: also drop pictures whose files are gone from the folders.
        rebuild: drop everything first and encode it again, which another image side requires. If the model has the same
        image side and another text side, captions are encoded again. follow_links: also add pictures outside the
        folders that symbolic links in them point to. batch_size: pictures that are encoded and
        stored together. spread: see `Indexer`.
        """
        check_list("folders", folders, "folders")
        indexer = self.indexer(rebuild=rebuild, batch_size=batch_size, spread=spread)
        report = indexer.run([Path(folder) for folder in folders], prune=prune, follow_links=follow_links)
        self._store = indexer.store
        return report

    def watch(
        self,
        folders: Sequence[str | Path],
        *,
        report: Callable[[IndexReport], None],
        prune: bool = False,
        rebuild: bool = False,
        follow_links: bool = False,
        spread: Spread | None = None,
    ) -> None:
        """Add pictures again and again, until Ctrl-C; `report` is called after each pass that changed something."""
        check_list("folders", folders, "folders")
        indexer = self.indexer(rebuild=rebuild, spread=spread)
        paths = [Path(folder) for folder in folders]
        watch_folders(indexer, paths, prune=prune, follow_links=follow_links, report=report)

    def indexer(
        self, *, rebuild: bool = False, batch_size: int = BATCH, spread: Spread | None = None
    ) -> Indexer:
        """Return an indexer for several passes over folders; it remembers broken files between passes."""
        exists = store_exists(self._address)
        if not exists and self._model.run is None:
            self._model.run = find_model()
        if exists and not rebuild:
            self._refresh()
            if self.outdated:  # our model must not replace the newer one
                raise RebuiltError(f"collection {self.address} has a newer model; open it again")
        embedder, header = self._model.load(filled=exists and not rebuild)
        return Indexer(self._address, embedder, header, rebuild=rebuild, batch_size=batch_size, spread=spread)

    def remove(self, pictures: Sequence[str | Path]) -> int:
        """Drop pictures, given by their ids or by the paths of their files; returns how many there were.

        The files stay. `add` adds them again if they are still in its folders.
        """
        check_list("pictures", pictures, "ids or paths")
        with self._checked():
            names = [str(picture) for picture in pictures]
            ids = {*names, *(picture_id(os.path.realpath(name)) for name in names)}
            with self.store.writing():
                stored = list(self.store.vectors(sorted(ids)))
                self.store.delete(stored)
        return len(stored)

    def search(
        self,
        text: str | Sequence[str] | None = None,
        *,
        image: QueryImage | None = None,
        weight: float = 0.5,
        lang: str | None = None,
        translator: Translator | None = None,
        consistency: str = "mean",
        k: int = 10,
        offset: int = 0,
        where: Filter = EVERYTHING,
        captions: bool = False,
        rerank: Reranker | None = None,
    ) -> list[Hit]:
        """Return the best pictures for a sentence, for several sentences together, for a picture, or for both.

        image: a path, a file open for reading, or a DecodedPicture for `preprocessing`; weight: share of the words if
        there is also a picture; lang: detected by default; translator: search in the model's other languages too;
        consistency: how their scores are combined (Burns et al. 2020): the mean (CLC-A), which is the score of the
        mean vector, or learned (CLC-C); k: number of results, after the first `offset`; where: which pictures count,
        a `lingvis.collection.stores.records.Filter`; captions: compare with the captions of the pictures instead of
        the pictures; rerank: reorders the first results, for instance by a second model.
        """
        query = Query(as_texts(text), image, weight, lang, translator)
        check_consistency(consistency, query)
        if consistency == "learned" and rerank is not None:
            raise UserError(
                "`rerank` and `consistency` learned both order the results; leave one of them out"
            )
        reranker = (
            LearnedConsistencyReranker(self._model.consistency()) if consistency == "learned" else rerank
        )
        langs: list[str] = []
        if reranker is not None:
            langs = self._encoder.languages(query)
            reranker.check(query, langs, captions=captions)
        if captions:
            self._check_captions()
        vectors = self._encoder(query)

        def find(k: int, offset: int) -> list[Hit]:
            return self._nearest(vectors.together, k=k, offset=offset, where=where, captions=captions)

        if reranker is None:
            hits = find(k, offset)
        else:

            def embeddings(ids: Sequence[str]) -> dict[str, Floats]:
                with self._checked():
                    return self.store.vectors(ids, captions=captions)

            context = RerankContext(query, langs, vectors, self.thumbnail, embeddings)
            hits = reranker.page(find, context, k=k, offset=offset)
        if captions:  # check again: another text side may have encoded them meanwhile
            self._check_captions()
        return hits

    def similar(self, id: str, *, k: int = 10, offset: int = 0, where: Filter = EVERYTHING) -> list[Hit]:
        """Return pictures similar to one of the collection, without this one."""
        with self._checked():
            vector = self.store.vectors([id]).get(id)
        if vector is None:
            raise UserError(f"collection {self.address} has no picture {id!r}; take the id from a search")
        hits = self._nearest(vector, k=k + offset + 1, offset=0, where=where)
        others = [hit for hit in hits if hit.id != id]
        return page_of(others[offset : offset + k], first_rank=offset + 1)

    def encode(
        self,
        text: str | Sequence[str] | None = None,
        *,
        image: QueryImage | None = None,
        weight: float = 0.5,
        lang: str | None = None,
        translator: Translator | None = None,
    ) -> Floats:
        """Return a query as one vector of unit length, float32 [dim]."""
        return self._encoder(Query(as_texts(text), image, weight, lang, translator)).together

    def language_of(self, text: str) -> str:
        """Detect the language of a sentence among the model's languages."""
        return self._model.language_of(text)

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture; None if there is no such picture."""
        with self._checked():
            return self.store.info(id)

    def thumbnail(self, id: str) -> bytes | None:
        """Return a small JPEG of one picture; None if there is no such picture."""
        with self._checked():
            return self.store.thumbnail(id)

    def statistics(self) -> Statistics:
        """Return numbers about the collection."""
        with self._checked():
            return self.store.statistics()

    def __len__(self) -> int:
        with self._checked():
            return self.store.count()

    def _stored_header(self) -> Header:
        return self.store.header

    def _nearest(
        self, vector: Floats, *, k: int, offset: int, where: Filter, captions: bool = False
    ) -> list[Hit]:
        check_page(k, offset)
        with self._checked():
            return self.store.search(vector[None], k=k, offset=offset, where=where, captions=captions)[0]

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Raise RebuiltError instead of a result or an error if another model rebuilt the collection meanwhile."""
        try:
            yield
        except UserError as error:
            raise UnavailableError(str(error)) from error
        finally:
            if self._store is not None:  # it could be opened
                check_rebuilt(self.address, self._model.header, self._store.header)

    def _refresh(self) -> None:
        """Read the header as it is now."""
        with self._checked():
            self.store.vectors([])  # returns nothing, but reads the header

    def _check_captions(self) -> None:
        _, header = self._model.load()
        self._refresh()
        check_captions(self.address, header, self.store.header, follows=self._model.run is None)
