"""The parts of stand-ins for forges that do not depend on the forge."""
