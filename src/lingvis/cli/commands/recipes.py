"""`lingvis recipes`: the recipes to train."""

from __future__ import annotations

import textwrap

from cyclopts import App

from lingvis.cli.options import Json
from lingvis.printing import print_line, print_lines

WIDTH = 80
LINE = "{:<30}{:<12}{:>8}{:>14}"
NOTES = """
languages: all of the dataset, or those that data.languages names; size: number
of parameters; trained in: a run of our records, start on 500 pictures, others
on 5,591, an upper bound where runs shared a GPU; empty: there is no record"""

app = App(name="recipes", help="List and show the recipes that come with lingvis.")


@app.command(name="list")
def list_recipes(*, json: Json = False) -> None:
    """List the built-in recipes: languages, size and training time."""
    from lingvis.cli.output import print_json
    from lingvis.recipes.overview import recipe_summaries

    recipes = recipe_summaries()
    if json:
        print_json([recipe.as_json() for recipe in recipes])
        return
    print_line(LINE.format("recipe", "languages", "size", "trained in"))
    for recipe in recipes:
        *columns, summary = recipe.row()
        print_line(LINE.format(*columns).rstrip())
        print_lines(textwrap.fill(summary, WIDTH, initial_indent="    ", subsequent_indent="    "))
    print_lines(NOTES)


@app.command
def show(name: str, /) -> None:
    """Print a recipe as commented TOML, to copy and change.

    Parameters
    ----------
    name: str
        A built-in recipe or a .toml file.
    """
    from lingvis.recipes.library import recipe_text
    from lingvis.training.validate import load_recipe

    load_recipe(name)
    print_lines(recipe_text(name).removesuffix("\n"))
