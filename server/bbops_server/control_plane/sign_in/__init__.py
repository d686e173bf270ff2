"""Pages to set up, sign up and sign in, and the page of the account."""
