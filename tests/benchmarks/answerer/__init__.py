"""Makes the adapter of the default answering model, which answers from passages and judges sentences."""
