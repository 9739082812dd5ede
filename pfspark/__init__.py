"""Exchange public folder replication as a dataframe engine: pure Spark on Delta tables."""
