"""LoRA adapters of GGUF models: the floats to train on, and the file that llama.cpp reads."""
