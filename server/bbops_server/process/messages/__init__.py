"""Messages between the server's processes: typed, one file for each request with its answer."""
