"""Chat models that run in this process, by llama.cpp."""
