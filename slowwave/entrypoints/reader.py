"""The process of the reader that stays: `python -m slowwave.entrypoints.reader HOME`."""

import os
import sys
from pathlib import Path

from typer.main import get_command

from slowwave.entrypoints.cli import app
from slowwave.entrypoints.resident.server import serve

if __name__ == "__main__":
    os.umask(0o077)
    serve(Path(sys.argv[1]), get_command(app))
