"""The data of word boundaries, made from ICU."""
