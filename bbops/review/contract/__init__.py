"""The contract between a project and its clients, in the words of JSON Schema 2020-12."""
