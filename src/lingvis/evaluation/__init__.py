"""Evaluation: models and a dataset under a named protocol -> a report, as a table, JSON or a page."""
