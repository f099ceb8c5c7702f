"""Word vectors: captions or published files -> one vector per word and language, stored below a dataset."""
