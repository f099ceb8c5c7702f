"""The training loop: a task and a sampler -> the best weights, with log and checkpoints in a run."""
