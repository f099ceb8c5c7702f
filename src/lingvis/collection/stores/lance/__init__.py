"""A collection in a folder, on LanceDB."""
