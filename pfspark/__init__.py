"""Exchange public folder replication as a dataframe engine: pure Spark on Delta tables."""


def __getattr__(name: str) -> object:
    # Spark is imported by whoever asks for a lake, not by whoever asks for the version.
    if name == "Lake":
        from pfspark.lake import Lake

        return Lake
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
