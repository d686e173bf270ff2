"""`python -m bbops`: the command line."""

from bbops.cli import start

if __name__ == "__main__":
    start()
