"""Training: a recipe and a dataset -> a model folder."""
