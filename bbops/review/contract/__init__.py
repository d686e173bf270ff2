"""What a project promises to those who call it, in the words of JSON Schema 2020-12."""
