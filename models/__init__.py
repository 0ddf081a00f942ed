"""Every local model, behind three small protocols: chat, embedder, reranker.

Owns: llama.cpp in process, Ollama over its native API, servers of the OpenAI
API, embedders and rerankers on ONNX Runtime or sentence-transformers; structured output with
repair; the catalogue of known model files and how they are fetched; capability probes; the test
doubles.

Must not know: the agent, the policy, the terminal. It may use ``traces`` for paths and the error base.
"""
