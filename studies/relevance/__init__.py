"""Studies of honest answers: detected languages, unknown words, and the confidence of hits."""
