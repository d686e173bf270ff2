"""How live tables differ from the declared ones, and what that means for rows."""
