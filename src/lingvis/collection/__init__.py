"""Stage 11, collections: pictures and their embeddings, searchable in every language of a model."""
