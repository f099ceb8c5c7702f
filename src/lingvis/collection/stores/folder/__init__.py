"""What the engines in a folder share: collection.json, the lock of the writer, albums, and sentences for trouble."""
