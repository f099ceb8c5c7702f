"""The common part of the engines in a folder: collection.json, the lock of the writer, albums, sentences for trouble."""
