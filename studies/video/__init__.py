"""Moments of videos: recall of the right shot, and speed of indexing."""
