"""Re-ranking: the first hits of a search -> the same hits in a new order."""
