"""Several pictures as one ZIP file: tickets, names, and the stream of its bytes."""
