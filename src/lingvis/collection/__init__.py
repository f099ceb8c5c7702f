"""Stage 11, collections: vectors, pictures and what is known of them, searchable in every language of a model."""
