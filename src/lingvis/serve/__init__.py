"""Stage 12, serving: a collection over HTTP, and the search page."""
