"""Models in ONNX: `export` writes them with torch, `embedder` uses them with onnxruntime alone."""
