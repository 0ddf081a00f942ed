"""Real processes that are killed, run out of disk or meet each other; what is checked after each."""
