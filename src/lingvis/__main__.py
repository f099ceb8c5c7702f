"""`python -m lingvis` is the command `lingvis`."""

from lingvis.cli import main

if __name__ == "__main__":
    main()
