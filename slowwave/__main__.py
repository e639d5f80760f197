"""`python -m slowwave`: the command line, for programs that know an interpreter and not its scripts."""

from slowwave.interfaces.cli.program import main

if __name__ == "__main__":
    main()
