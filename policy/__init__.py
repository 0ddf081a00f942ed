"""Learning to decide.

Owns: decisions as data, training, the gate, the active policy.

`questions` reads questions with known answers; `collecting` collects decisions on them; `decisions` reads
decisions from a store as trees and computes what each action was worth; `training` fits a policy to them
(forest, encoder); `judging` calibrates it, walks it over held-out questions and applies the gate; `serving`
stores policies in folders and lets the active one decide. `evaluation` compares whole systems.

Must not know: the terminal. It may use everything the agent offers; the agent never imports it.
"""
