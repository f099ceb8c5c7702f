"""The model that comes with lingvis: its precision, and its card."""
