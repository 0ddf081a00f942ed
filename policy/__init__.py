"""Learning to decide, and the measuring of answers that learning starts from.

Owns: how an answer is scored against gold, and what was gathered to learn from; later the Markov
decision process, its training and its gate.

Must not know: the terminal. It may use everything the agent offers; the agent never imports it.
"""
