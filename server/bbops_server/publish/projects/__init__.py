"""All projects of a server, and the control plane's access to them."""
