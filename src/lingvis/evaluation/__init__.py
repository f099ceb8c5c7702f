"""Ranks, recalls and named protocols; tables, example queries and a page of results."""
