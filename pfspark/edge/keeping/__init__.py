"""What keeps a lake sound: upkeep, audits and repairs."""
