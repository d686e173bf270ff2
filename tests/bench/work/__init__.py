"""What work outside of requests costs, figure by figure, each with its bound."""
