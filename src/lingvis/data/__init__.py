"""Stage 1, data: files -> rows of pictures with captions in many languages."""
