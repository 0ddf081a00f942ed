"""What is exact in text: sentences, names, numbers with units, dates, and the language it is in."""
