"""How a command and its engine talk: lines of JSON, the first of them with the three open files of who asks."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
STREAMS = 3
LONGEST = 2**24


class Line:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._rest = b""

    def say(self, message: Message, files: Sequence[int] = ()) -> None:
        """Sends a message, and open files with it."""
        raw = json.dumps(message).encode() + b"\n"
        if files:
            sent = socket.send_fds(self.connection, [raw[:1]], list(files))
            raw = raw[sent:]
        self.connection.sendall(raw)

    def hear(self) -> Message | None:
        """The next message; None: the other end has gone, or talks nonsense.

        Raises TimeoutError where none comes within the connection's time.
        """
        while b"\n" not in self._rest:
            try:
                raw = self.connection.recv(65_536)
            except ConnectionError:
                return None
            if not raw or len(self._rest) > LONGEST:
                return None
            self._rest += raw
        first, _, self._rest = self._rest.partition(b"\n")
        try:
            said = json.loads(first)
        except ValueError:
            return None
        return said if isinstance(said, dict) else None

    def hear_with_files(self) -> tuple[Message | None, list[int]]:
        """The first message, and the files that came with it."""
        raw, files, _, _ = socket.recv_fds(self.connection, 65_536, STREAMS)
        self._rest += raw
        return (self.hear() if raw else None), list(files)

    def is_of_this_user(self) -> bool:
        """Whether the process at the other end is of the user of this one."""
        return self._peer()[1] == os.getuid()

    def process(self) -> int:
        """Which process is at the other end."""
        return self._peer()[0]

    def _peer(self) -> tuple[int, int]:
        """The process at the other end, and its user."""
        told = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        process, user, _ = struct.unpack("3i", told)
        return process, user
