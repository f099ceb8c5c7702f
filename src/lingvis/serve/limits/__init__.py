"""Limits of the server: access, request sizes, time and the number of concurrent requests."""
