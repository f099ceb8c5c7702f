"""Running a server: its settings, its log, its addresses, its place behind a proxy."""
