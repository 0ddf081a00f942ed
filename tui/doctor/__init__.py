"""What works on this machine, what does not, and the way out."""
