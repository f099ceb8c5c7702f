"""Kills while indexing."""
