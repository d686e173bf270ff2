"""Make what is served equal to what is committed."""
