"""Routes of the HTTP API and of the search page: requests -> answers."""
