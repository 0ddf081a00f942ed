"""The planner: a LoRA adapter for a small language model, trained to turn a question into look-ups."""
