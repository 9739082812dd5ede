"""The key columns by which rows of many stores and folders stand in one frame: every join carries one of these, or `org`."""

from __future__ import annotations

FOLDER = ("org", "folder")
"""A folder, whoever holds it."""
ORIGIN = (*FOLDER, "origin")
"""The numbers that one replica, in one of its lives, gave in a folder, whoever holds them."""
NUMBER = (*ORIGIN, "cn")
"""One of those numbers, and so one change."""
STORE = ("org", "store")
"""One store."""
HERE = (*STORE, "folder")
"""What one store knows of one folder."""
ORIGIN_HERE = (*HERE, "origin")
"""What one store knows of the numbers of one origin in one folder."""
RANGE_HERE = (*ORIGIN_HERE, "cn_min", "cn_max")
"""A range of those numbers."""
OBJECT = (*FOLDER, "object")
"""An item of a folder, or, of the hierarchy, a folder; whoever holds it."""
ITEM = (*HERE, "object")
"""An item of a folder, as one store sees it."""
PAIR = (*STORE, "peer")
"""What one store knows of another."""
BELIEF = (*HERE, "entry", "about", "origin")
"""What one store knows of what a replica has of an origin's numbers in one folder."""
SAID = (*FOLDER, "entry", "about", "origin", "cn_min", "cn_max")
"""That a replica has these numbers, whoever says it and whoever hears it."""
MESSAGE = ("org", "message_id")
"""A message, whoever it goes to."""
AGENDA = (*HERE, "why", "peer")
"""An entry of the agenda."""
QUEUE = (*HERE, "asker")
"""Whose updates are packed together: those for all, and those for each who has asked."""
