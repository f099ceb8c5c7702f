"""The command tree. Commands import what they need when they run, so that --help stays fast."""

from __future__ import annotations

from cyclopts import App, Parameter

from lingvis import __version__
from lingvis.cli.commands import (
    add_language,
    albums,
    align,
    collections,
    compare,
    data,
    demo,
    evaluate,
    features,
    recipes,
    serve,
    suggest,
    train,
    vectors,
)
from lingvis.cli.commands.models import calibrate, compress, export

app = App(
    name="lingvis",
    help="Small multilingual visual-semantic embeddings: train, measure and search pictures in many languages.",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=""),  # switches have no --no-... form unless they define one
)
app.command(demo.demo)
app.command(data.app)
app.command(features.app)
app.command(vectors.app)
app.command(align.align)
app.command(recipes.app)
app.command(train.train)
app.command(evaluate.evaluate)
app.command(compare.compare)
app.command(add_language.add_language)
app.command(calibrate.calibrate)
app.command(compress.compress)
app.command(export.export)
app.command(suggest.suggest)
app.command(collections.index)
app.command(collections.search)
app.command(albums.app)
app.command(serve.serve)
