"""Indexing: folders of pictures -> rows of a collection."""
