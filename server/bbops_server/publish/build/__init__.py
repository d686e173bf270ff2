"""The build process: reads, checks, compiles and migrates, so that no request waits for it."""
