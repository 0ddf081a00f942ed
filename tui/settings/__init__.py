"""Settings: what they are, the file they are kept in, and changing them."""
