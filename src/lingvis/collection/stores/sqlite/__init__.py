"""A collection in a folder, on SQLite."""
