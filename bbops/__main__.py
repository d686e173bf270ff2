"""`python -m bbops`: the command line."""

from bbops.cli import main

if __name__ == "__main__":
    main()
