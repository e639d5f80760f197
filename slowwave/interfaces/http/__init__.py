"""The server of a home: one FastAPI app on its Unix socket and, with `slowwave serve`, on a port of the loopback."""
