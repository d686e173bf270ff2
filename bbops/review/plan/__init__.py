"""What a change will do: two projects to a Plan, as a review reads it. Nothing here is applied."""
