"""Models that run in a server: Ollama, and any server that speaks the OpenAI API."""
