"""Decoder processes: pictures of strangers are decoded in processes with limits on time and memory."""
