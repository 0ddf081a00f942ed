"""Models that run in a server: Ollama, and any server with the OpenAI API."""
