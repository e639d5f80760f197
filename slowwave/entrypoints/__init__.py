"""The faces (command line, reader process, Prefect pages): each parses its input, calls `Memory` and shows the result."""
