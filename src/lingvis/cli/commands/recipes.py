"""`lingvis recipes`: the recipes to train."""

from __future__ import annotations

from cyclopts import App

from lingvis.cli.options import Json
from lingvis.printing import print_lines

app = App(name="recipes", help="List and show the recipes that come with lingvis.")


@app.command(name="list")
def list_recipes(*, json: Json = False) -> None:
    """List the built-in recipes."""
    from lingvis.cli.output import print_json, print_table
    from lingvis.recipes.library import recipe_names
    from lingvis.training.validate import load_recipe

    recipes = [load_recipe(name) for name in recipe_names()]
    if json:
        print_json(
            [{"name": recipe.name, "summary": recipe.summary, "source": recipe.source} for recipe in recipes]
        )
    else:
        print_table(
            "recipes", ["name", "summary", "source"], [(r.name, r.summary, r.source) for r in recipes]
        )


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
