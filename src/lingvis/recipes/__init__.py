"""Recipes: TOML text and overrides -> a checked recipe."""
