"""The control plane: what people and tools ask about the server itself."""
