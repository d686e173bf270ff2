"""The live release of each project in a data process."""
