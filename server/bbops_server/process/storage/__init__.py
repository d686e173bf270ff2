"""The door `storage` of a server: the files that projects keep, on its disk or in a bucket."""
