"""Word lists and language codes: WordNet synonyms and hypernyms, ISO 639 names."""
