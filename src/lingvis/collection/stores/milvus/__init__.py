"""A collection on a Milvus server or cluster."""
