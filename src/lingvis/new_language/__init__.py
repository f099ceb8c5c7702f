"""Add a language to a trained model: several routes are tried, and the best one is kept."""
