"""The text side: sentences -> token ids -> word vectors -> pooled vectors, with vectors, maps and dictionaries."""
