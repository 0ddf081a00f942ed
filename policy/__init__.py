"""The Markov decision process, and the measuring of answers.

Owns: how an answer is scored against gold, and what a run's decisions look like as a trajectory.

Must not know: the terminal. It may use everything the agent offers; the agent never imports it.
"""
