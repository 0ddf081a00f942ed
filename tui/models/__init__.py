"""Models: which are here, which are in use, fetching and measuring them."""
