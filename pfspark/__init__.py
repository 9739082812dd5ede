"""Exchange public folder replication as a dataframe engine: pure Spark on Delta tables.

Stores hold copies of folders of items; anybody writes anywhere; changes carry change numbers; stores exchange sets of them,
and ask the best source for what they lack. A lake is a folder of Delta tables, or a schema of a catalog, in which that is
played, round by round.

A lake with two stores and a folder that both have:

    from pfspark import Lake
    lake = Lake.create("/data/lake")
    lake.organization(profile="exchange_2007")
    lake.store("PFS1", "Redmond")
    lake.store("PFS2", "Redmond")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"])

Something is written, and rounds are played until nothing is left to do:

    lake.post("PFS1", "/Sales", "Subject: hello\\r\\n\\r\\nHello.", name="hello")
    lake.run(until_quiet=True)
    lake                                       # how it stands; in a notebook as a table

Every answer is a frame, now or as of an earlier round; so are all tables (`lake.table("changes")`):

    lake.state().show()                        # who has what
    lake.gaps(as_of=3).show()                  # what was missing where, and whom it was asked of
    lake.why("hello", folder="/Sales", store="PFS2").show()
    lake.trace("hello", folder="/Sales").show()

What would an outage do? The lake stays as it is:

    from datetime import timedelta
    post = {"store": "PFS1", "folder": "/Sales"}
    outage = [{"at": "0m", "down": ["PFS2"]}, {"at": "1h", "post": post}, {"at": "12h", "up": ["PFS2"]}]
    lake.whatif({"steps": outage}, until=timedelta(days=2)).show()

`help(pfspark.Lake)` names all that can be done; the command line says the same by `pfspark --help`, and what a column or a
line means by `pfspark docs NAME`.
"""


def __getattr__(name: str) -> object:
    # Spark is imported by whoever asks for a lake, not by whoever asks for the version.
    if name == "Lake":
        from pfspark.lake import Lake

        return Lake
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
