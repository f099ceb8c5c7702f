"""Teach a trained model one more language: routes to it, each measured, and the best of them kept."""
