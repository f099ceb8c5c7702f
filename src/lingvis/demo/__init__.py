"""Stage 13, the demo: the whole path on built-in data, offline."""
