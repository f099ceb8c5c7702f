"""Work of one machine, spread over a Ray cluster: feature extraction and indexing."""
