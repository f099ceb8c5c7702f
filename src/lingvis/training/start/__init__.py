"""Where a run starts: vocabulary and word vectors, and parts of another model."""
