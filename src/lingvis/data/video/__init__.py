"""Videos: the one place where a file is opened as a video, and where its frames are chosen and decoded."""
