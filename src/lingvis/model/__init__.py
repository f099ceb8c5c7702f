"""The dual encoder, its folder, and the embedder that applies it."""
