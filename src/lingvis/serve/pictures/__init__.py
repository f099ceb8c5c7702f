"""Pictures for browsers: their files, the end of a picture in its file, thumbnails."""
