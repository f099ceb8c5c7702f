"""A picture collection: pictures are added from folders, and found by words or by a picture."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from lingvis.arrays import Floats
from lingvis.collection.albums import Albums
from lingvis.collection.binding import ImageEmbedder, check_image_side
from lingvis.collection.confidence import HitConfidence
from lingvis.collection.model import CollectionModel
from lingvis.collection.moments import find_scenes, with_moments
from lingvis.collection.notebook import Hits
from lingvis.collection.query.encoder import QueryEncoder
from lingvis.collection.query.query import Query, QueryImage, as_texts, make_query
from lingvis.collection.query.report import SentenceReport
from lingvis.collection.rebuilds import (
    RebuiltError,
    UnavailableError,
    check_captions,
    check_rebuilt,
    is_newer,
)
from lingvis.collection.rerank.base import RerankContext, Reranker, check_plain
from lingvis.collection.rerank.learned_consistency import LearnedConsistencyReranker, check_consistency
from lingvis.collection.stores.albums import AlbumError
from lingvis.collection.stores.contract import MovedError, Store
from lingvis.collection.stores.folder.header import Engine
from lingvis.collection.stores.open import create_store, open_store, shown, store_exists
from lingvis.collection.stores.records import (
    Filter,
    FolderCount,
    Header,
    Hit,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
    check_page,
)
from lingvis.collection.writer.indexer import BATCH, Indexer, IndexReport, Spread, watch_folders
from lingvis.collection.writer.items import picture_id
from lingvis.errors import UserError, check_list
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.encoder import Encoder
from lingvis.pretrained import find_model
from lingvis.text.translators.contract import Translator

EVERYTHING = Filter()


class Collection:
    """`Collection.open("photos.lv").search("ein Hund am Strand")`.

    address: a folder, postgresql://USER@HOST/DATABASE?collection=NAME, or milvus://HOST:PORT/NAME. model: a model folder;
    None for the model that filled the collection, or lingvis-base if the collection is new. engine: sqlite, or lance for
    very many pictures, of a folder that `add` makes or rebuilds; None for the one that it has, or sqlite. The constructor
    opens nothing: the store is opened, or made by `add`, and the model is loaded at first use. Several threads may search
    at once.
    """

    def __init__(
        self,
        address: str | Path,
        *,
        model: str | Path | None = None,
        device: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.address = shown(address)
        self._address, self._device, self._engine = str(address), device, engine
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._model = CollectionModel(
            self.address, find_model(model) if model is not None else None, device, self._stored_header
        )
        self._encoder = QueryEncoder(self._model)
        self._confidence = HitConfidence(lambda: self.store)

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
        cls,
        address: str | Path,
        model: str | Path | None = None,
        *,
        device: str | None = None,
        engine: Engine | None = None,
    ) -> Collection:
        """Make an empty collection for a model, by default lingvis-base; raises UserError if there is one."""
        if store_exists(str(address)):
            raise UserError(f"collection {shown(address)} exists; open it, or name a new one")
        collection = cls(address, model=find_model(model), device=device, engine=engine)
        _, header = collection._model.load(filled=False)
        collection._store = create_store(str(address), header, engine=engine, replace=False)
        check_image_side(
            collection.address, collection._store.header, header
        )  # another process may have made it
        return collection

    def __reduce__(self) -> tuple[Callable[..., Collection], tuple[str]]:
        """Pickle the address: another process opens the collection itself."""
        return partial(Collection.open, model=self._model.run, device=self._device), (self._address,)

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
    def albums(self) -> Albums:
        """The albums of the collection; `albums.add("favourites", ...)` marks favourites."""
        return Albums(self.address, lambda: self.store.albums, self.infos, self._having)

    @property
    def model(self) -> Encoder:
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
        return Indexer(
            self._address,
            embedder,
            header,
            engine=self._engine,
            rebuild=rebuild,
            batch_size=batch_size,
            spread=spread,
        )

    def remove(self, pictures: Sequence[str | Path]) -> int:
        """Drop pictures, given by their ids or by the paths of their files; returns how many there were.

        A video goes with all its moments. The files stay. `add` adds them again if they are still in its folders.
        """
        check_list("pictures", pictures, "ids or paths")
        with self._checked():
            names = [str(picture) for picture in pictures]
            ids = {*names, *(picture_id(os.path.realpath(name)) for name in names)}
            with self.store.writing():
                stored = with_moments(self.store, sorted(ids))
                self.store.delete([info.id for info in stored])
        return len({info.path for info in stored})

    def search(
        self,
        text: str | Sequence[str] | None = None,
        *,
        image: QueryImage | None = None,
        like: str | None = None,
        without: str | Sequence[str] | None = None,
        weight: float = 0.5,
        lang: str | None = None,
        prefer: Sequence[str] = (),
        translator: Translator | None = None,
        consistency: str = "mean",
        k: int = 10,
        offset: int = 0,
        where: Filter = EVERYTHING,
        captions: bool = False,
        rerank: Reranker | None = None,
    ) -> Hits:
        """Return the best pictures for a sentence, for several sentences together, for a picture, or for both.

        image: a path, bytes, an open file, an image of Pillow, an array uint8 [height, width, 3], or a DecodedPicture
        for `preprocessing`; like: id of a picture of the collection, which is not among the results; without: what must
        not be in the pictures, also written as "dog -beach" in `text`; weight: share of the words if there is also a
        picture; lang: detected by default; prefer: languages that the user probably writes, which helps to detect it;
        translator: search in the model's other languages too; consistency: how their scores are combined (Burns et al.
        2020): the mean (CLC-A), which is the score of the mean vector, or learned (CLC-C); k: number of results, after
        the first `offset`; where: which pictures count, a `lingvis.Filter`; captions: compare with the captions of the
        pictures instead of the pictures; rerank: reorders the first results, for instance by a second model.

        Of a video, a result is a moment, `info.second`; moments less than 5 seconds apart are one result, the best.
        """
        check_list("prefer", prefer, "languages")
        query = make_query(text, image, weight, lang, translator, like, without, prefer)
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
            check_plain(query)
            langs = self._encoder.languages(query)
            reranker.check(query, langs, captions=captions)
        if captions:
            self._check_captions()
        vectors = self._encoder(query, like=None if like is None else self._vector_of(like))

        def find(k: int, offset: int) -> list[Hit]:
            hits = self._nearest(
                vectors.together, k=k, offset=offset, where=where, captions=captions, without=like
            )
            return (
                hits
                if vectors.scale == 1
                else [replace(hit, score=hit.score * vectors.scale) for hit in hits]
            )

        if reranker is None:
            hits = find(k, offset)
            if image is None and like is None and not query.without and not captions:
                hits = self._with_confidence(hits, query, vectors.together)
        else:

            def embeddings(ids: Sequence[str]) -> dict[str, Floats]:
                with self._checked():
                    return self.store.vectors(ids, captions=captions)

            context = RerankContext(query, langs, vectors, self.thumbnail, embeddings)
            hits = reranker.page(find, context, k=k, offset=offset)
        if captions:  # check again: another text side may have encoded them meanwhile
            self._check_captions()
        return Hits(hits)

    def similar(self, id: str, *, k: int = 10, offset: int = 0, where: Filter = EVERYTHING) -> Hits:
        """Return pictures similar to one of the collection, without this one."""
        return Hits(self._nearest(self._vector_of(id), k=k, offset=offset, where=where, without=id))

    def browse(self, *, k: int = 50, offset: int = 0, where: Filter = EVERYTHING) -> list[PictureInfo]:
        """Return pictures without a query, the newest first; k: number of pictures, after the first `offset`.

        A video is there once, with its first moment.
        """
        check_page(k, offset)
        with self._checked():
            return self.store.browse(k=k, offset=offset, where=self._once(where))

    def timeline(self, *, where: Filter = EVERYTHING) -> list[MonthCount]:
        """Return the number of pictures per month, the latest month first."""
        with self._checked():
            return self.store.timeline(self._once(where))

    def folders(self, *, where: Filter = EVERYTHING) -> list[FolderCount]:
        """Return the number of pictures per folder, without those of folders in it, ordered by path."""
        with self._checked():
            return self.store.folders(self._once(where))

    def places(self, *, where: Filter = EVERYTHING, step: float = 1.0) -> list[PlaceCount]:
        """Return the number of pictures per square of `step` degrees of the map, the largest numbers first.

        Only pictures that carry a position count, and at most 2,000 squares are returned.
        """
        if not step > 0:
            raise UserError(f"step must be above 0 degrees, got {step}")
        with self._checked():
            return self.store.places(self._once(where), step=step)

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
        return self._encoder(make_query(text, image, weight, lang, translator)).together

    def language_of(self, text: str, *, prefer: Sequence[str] = ()) -> str:
        """Detect the language of a sentence among the model's languages; prefer: those that the user probably writes."""
        return self._model.language_of(text, prefer)

    def report(
        self, text: str | Sequence[str], *, lang: str | None = None, prefer: Sequence[str] = ()
    ) -> list[SentenceReport]:
        """Return how the model understands each sentence: its language, and the words that it does not know."""
        return [self._model.report(each, lang, prefer) for each in as_texts(text)]

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture; None if there is no such picture."""
        with self._checked():
            return self.store.info(id)

    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the existing pictures with these ids, in the order of the ids."""
        with self._checked():
            known = {info.id: info for info in self.store.infos(list(dict.fromkeys(ids)))}
        return [known[id] for id in dict.fromkeys(ids) if id in known]

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
            return self.store.count(once=True)

    def _stored_header(self) -> Header:
        return self.store.header

    def _once(self, where: Filter) -> Filter:
        return replace(self.albums.resolved(where), once=True)

    def _nearest(
        self,
        vector: Floats,
        *,
        k: int,
        offset: int,
        where: Filter,
        captions: bool = False,
        without: str | None = None,
    ) -> list[Hit]:
        """Return hits, of one picture none."""
        check_page(k, offset)
        with self._checked():
            where = self.albums.resolved(where)
            return find_scenes(
                lambda count: self.store.search(vector[None], k=count, where=where, captions=captions)[0],
                k=k,
                offset=offset,
                seen=None if without is None else self.store.info(without),
            )

    def _with_confidence(self, hits: list[Hit], query: Query, vector: Floats) -> list[Hit]:
        calibration = self._model.calibration
        reports = (
            self.report(query.texts, lang=query.lang, prefer=query.prefer) if calibration is not None else []
        )
        understood = all(report.understood for report in reports)
        with self._checked():
            return self._confidence(hits, calibration, vector, understood=understood)

    def _having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        with self._checked():
            return self.store.having(hashes)

    def _vector_of(self, id: str) -> Floats:
        with self._checked():
            vector = self.store.vectors([id]).get(id)
        if vector is None:
            raise UserError(f"collection {self.address} has no picture {id!r}; take the id from a search")
        return vector

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Raise RebuiltError instead of a result or an error if another model rebuilt the collection meanwhile."""
        try:
            yield
        except AlbumError:
            raise
        except MovedError as error:
            raise RebuiltError(str(error)) from error
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
