"""Feature extraction and indexing on a Ray cluster: tasks -> results, by workers on several machines."""
