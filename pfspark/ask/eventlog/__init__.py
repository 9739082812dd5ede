"""The replication events of an application log: as Exchange writes them, and read back from its text.

Numbers and ids stand as REPLID-COUNTER in hex (F96); which origin a REPLID stands for is told by a table, which on a
real server is private to it (F4). A folder `/Sales/A\\B` is written `IPM_SUBTREE\\Sales\\A/B`: Exchange parts names by the
sign that our names may contain, and the other way round. Times are taken to be UTC.

No Spark here: a server's own log is read without Java.
"""

from pfspark.ask.eventlog.event import NEW_LIFE, REMOVED, Deleted, Event, Posted, Sent, event_of, one_line
from pfspark.ask.eventlog.reading import read
from pfspark.ask.eventlog.writing import describe, write

__all__ = ["NEW_LIFE", "REMOVED", "Deleted", "Event", "Posted", "Sent", "describe", "event_of", "one_line", "read", "write"]
