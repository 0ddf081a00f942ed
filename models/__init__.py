"""Every local model, behind the protocols of `protocols`: chat, embedder, reader and others.

Owns: llama.cpp in process, Ollama over its native API, servers with the OpenAI API, embedders and
rerankers on ONNX Runtime or sentence-transformers; the boxed reader and planner; structured output with
repair; the catalogue of known model files and their download; capability probes.

Must not know: the agent, the policy, the terminal. It may use ``traces`` for paths and the error base.
"""
