"""Several collections in one server: their names and their paths."""
