"""The text of recipes, from the package or from a file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from lingvis.errors import UserError, choices


def recipe_names() -> list[str]:
    """The names of the built-in recipes."""
    files = (resources.files("lingvis.recipes") / "shipped").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def recipe_text(name: str) -> str:
    """The TOML text of a built-in recipe, or of a file."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise UserError(f"no recipe file at {name}; built-in recipes are: {choices(recipe_names())}")
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{name} is not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    if name not in recipe_names():
        raise UserError(
            f"unknown recipe {name!r}; choose one of: {choices(recipe_names())}, or give a file that ends in .toml"
        )
    return (resources.files("lingvis.recipes") / "shipped" / f"{name}.toml").read_text(encoding="utf-8")
