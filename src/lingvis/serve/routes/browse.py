"""Routes that show pictures without a query: by date, by folder, on the map."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from lingvis.serve.answers import (
    BrowseAnswer,
    ExampleAnswer,
    ExamplesAnswer,
    FolderAnswer,
    FoldersAnswer,
    ItemAnswer,
    MonthAnswer,
    PlaceAnswer,
    PlacesAnswer,
    TimelineAnswer,
)
from lingvis.serve.limits.access import allowed
from lingvis.serve.queries import Filters, PictureFilter, PlacesQuery
from lingvis.serve.routes.search import REFUSALS
from lingvis.serve.server import ServerOfRequest

Lang = Annotated[str, Query(max_length=40, description="Language of the queries, if the model has it.")]
router = APIRouter(prefix="/api", tags=["browse"], dependencies=[Depends(allowed)], responses=REFUSALS)


@router.get("/browse", summary="Pictures without a query")
async def browse(server: ServerOfRequest, filters: Annotated[Filters, Query()]) -> BrowseAnswer:
    """The newest pictures that pass the filters, page by page."""
    infos = await server.searches.run(server.engine.browse, filters.k, filters.offset, filters.where())
    return BrowseAnswer(k=filters.k, offset=filters.offset, items=[ItemAnswer.of(info) for info in infos])


@router.get("/timeline", summary="Pictures per month")
async def timeline(server: ServerOfRequest, filters: Annotated[PictureFilter, Query()]) -> TimelineAnswer:
    """The months that have pictures, the latest first."""
    months = await server.searches.run(server.engine.timeline, filters.where())
    return TimelineAnswer(months=[MonthAnswer(**asdict(month)) for month in months])


@router.get("/folders", summary="Pictures per folder")
async def folders(server: ServerOfRequest, filters: Annotated[PictureFilter, Query()]) -> FoldersAnswer:
    """The folders that have pictures themselves."""
    counts = await server.searches.run(server.engine.folders, filters.where())
    return FoldersAnswer(folders=[FolderAnswer(**asdict(count)) for count in counts])


@router.get("/places", summary="Pictures on the map")
async def places(server: ServerOfRequest, query: Annotated[PlacesQuery, Query()]) -> PlacesAnswer:
    """Squares of the map that have pictures: at most 2,000."""
    counts = await server.searches.run(server.engine.places, query.where(), query.step)
    return PlacesAnswer(places=[PlaceAnswer(**asdict(count)) for count in counts])


@router.get("/examples", summary="Queries to begin with")
async def examples(server: ServerOfRequest, lang: Lang = "en") -> ExamplesAnswer:
    """Queries that find varied pictures of the collection."""
    chosen = await server.searches.run(server.engine.examples, lang)
    return ExamplesAnswer(examples=[ExampleAnswer(text=text, lang=code) for text, code in chosen])
