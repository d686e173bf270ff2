"""Clone, fetch and push over HTTP. A push is live when it returns, or it prints the errors."""
