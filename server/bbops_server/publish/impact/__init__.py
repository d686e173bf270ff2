"""The effect of a commit on projects: plan, tests and missing values, before it goes live."""
