"""Importers of captioned videos."""
