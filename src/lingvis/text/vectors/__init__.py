"""Word vectors: stored by language, read from fastText and word2vec files or trained on captions, reduced by PCA."""
