"""The causal ladder: a small language model that answers a state with one letter.

Supervised fine-tuning on the best action (SFT), then preferences between actions (DPO), each a LoRA
adapter on a base such as SmolLM2 135M; read back by the logits of the letters.
`policy.training.causal.fitting.fit` is the door; `policy.training.causal.export` writes a GGUF file and an
Ollama Modelfile.
"""
