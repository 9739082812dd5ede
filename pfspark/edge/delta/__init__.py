"""The tables of a lake on Delta, and what is done with their files."""
