"""What processes are asked that run code nobody has reviewed, and the ones they come from."""
