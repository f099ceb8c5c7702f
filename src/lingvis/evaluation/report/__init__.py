"""A report for people: a table, a page with example queries and a chart, a map."""
