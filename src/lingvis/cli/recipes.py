"""`lingvis recipes`: what can be trained."""

from __future__ import annotations

from cyclopts import App

app = App(name="recipes", help="List and show the recipes that come with lingvis.")


@app.command(name="list")
def list_recipes(*, json: bool = False) -> None:
    """List the built-in recipes.

    Parameters
    ----------
    json: bool
        Print JSON instead of a table.
    """
    from lingvis.cli.output import print_json, print_table
    from lingvis.recipes.library import recipe_names
    from lingvis.training.validate import load_recipe

    recipes = [load_recipe(name) for name in recipe_names()]
    if json:
        print_json([{"name": each.name, "summary": each.summary, "source": each.source} for each in recipes])
    else:
        print_table(
            "recipes", ["name", "summary", "source"], [(r.name, r.summary, r.source) for r in recipes]
        )


@app.command
def show(name: str, /) -> None:
    """Print the whole recipe, commented TOML to copy and change.

    Parameters
    ----------
    name: str
        A built-in recipe or a .toml file.
    """
    from lingvis.recipes.library import recipe_text
    from lingvis.training.validate import load_recipe

    load_recipe(name)
    print(recipe_text(name), end="")
