"""Words of a new language and their translations: lexicon, word vectors, word-by-word glosses."""
