"""What a session of Spark is made of, and set to."""
