"""Recipes: their schema, their text and the check of their options."""
