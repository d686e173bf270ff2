"""Load generators: as much as a server takes, or at a fixed rate whatever it takes."""
