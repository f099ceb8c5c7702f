"""Engines that store a collection: items and queries -> hits, in a folder or on a server."""
