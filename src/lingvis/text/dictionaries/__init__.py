"""Dictionaries: files of several formats -> word -> its translations."""

from lingvis.text.dictionaries.find import find_dictionaries
from lingvis.text.dictionaries.read import read_dictionary

__all__ = ["find_dictionaries", "read_dictionary"]
