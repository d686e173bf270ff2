"""The effects of a change: two projects become a Plan for a review. Nothing here is applied."""
