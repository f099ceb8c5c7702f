"""Commands that write a model folder from another: for lower precision, for onnxruntime, with what its scores mean."""
