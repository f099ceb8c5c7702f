"""Several processes of one server: they share the listening socket, sessions, wrong tokens, downloads and metrics."""
