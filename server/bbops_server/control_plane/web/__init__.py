"""What every route of the control plane is made of."""
