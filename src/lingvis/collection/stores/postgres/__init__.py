"""A collection on a PostgreSQL server with pgvector."""
