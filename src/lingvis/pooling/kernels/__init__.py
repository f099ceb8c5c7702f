"""Kernels for NVIDIA GPUs, which need Triton: imported only where they run."""
