"""Building blocks of every route: request, permissions, guard, errors and templates."""
