"""Real mail in and out: mbox files, .eml files and Maildirs become rows, and rows become such files again.

**The bytes are kept as they are.** An mbox is cut wherever a line begins with `From `, as Python's `mailbox` cuts it.
Of each piece

- `raw` is the mail: the bytes between, untouched. `>From ` stays quoted, for unquoting could not be undone exactly;
- `envelope` is what the mbox put around it: the `From ` line with its line end, then the blank line that separates the
  mail from the next, if there is one (an LF; also a CRLF where the `From ` line ends so).

So a mail has the same `raw` in an mbox as in an .eml file, and an export is, mail by mail, the `From ` line, `raw`, the
blank line: the same mbox byte for byte, whatever its line ends and its last line. A mail that was a file of its own has
no envelope (null); `write_mbox` makes one and quotes the mail as mboxrd does. Two things no mbox holds exactly, so they
survive only as .eml: such a mail with lines that begin with `From `, and a mail without a final newline, but the last.

**Whatever the bytes are, there is a row.** A mail that is beyond a cap or cannot be parsed is kept whole, with a reason
(`mime.Reason`) and what headers could be derived. Only what does not fit into a row, or cannot be read, has no bytes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pfspark.edge.mail.executors import read, read_batches
    from pfspark.edge.mail.files import Kind, Source, find, split_mbox
    from pfspark.edge.mail.posts import ENVELOPE, Import, bodies, edit_id, edit_ids, edits
    from pfspark.edge.mail.processes import read_here
    from pfspark.edge.mail.writing import write_eml, write_mbox

__all__ = [
    "ENVELOPE", "Import", "Kind", "Source", "bodies", "edit_id", "edit_ids", "edits", "find", "read", "read_batches",
    "read_here", "split_mbox", "write_eml", "write_mbox",
]  # fmt: skip

_MADE_BY = {
    **dict.fromkeys(("Kind", "Source", "find", "split_mbox"), "files"),
    **dict.fromkeys(("ENVELOPE", "Import", "bodies", "edit_id", "edit_ids", "edits"), "posts"),
    **dict.fromkeys(("read_here",), "processes"),
    **dict.fromkeys(("write_eml", "write_mbox"), "writing"),
    **dict.fromkeys(("read", "read_batches"), "executors"),
}


def __getattr__(name: str) -> Any:
    """Looks a name up where it is made: who opens a lake for something else does not wait for the parsing of mail."""
    if name in _MADE_BY:
        return getattr(import_module(f"{__name__}.{_MADE_BY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
