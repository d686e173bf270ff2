"""`python -m bbops`: the command line."""

from bbops.interfaces.cli import start

if __name__ == "__main__":
    start()
