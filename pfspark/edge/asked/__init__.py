"""Answers about a lake after one of its rounds."""
