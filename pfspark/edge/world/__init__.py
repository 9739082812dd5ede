"""The world that rounds go on with, and where it lies between them."""
