"""The pages of docs/language: made from the models, run as tests."""
