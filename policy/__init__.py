"""Learning to decide, in folders by what happens to a decision.

Owns: decisions as data, training, the gate, the active policy.

`questions` reads questions with known answers; `collecting` makes decisions from them; `decisions` reads
decisions from a store as trees and works out what each action was worth; `training` fits a policy to them
(forest, encoder); `judging` calibrates it, walks it over held-out questions and asks the gate; `serving`
keeps policies in folders and lets the active one decide. `evaluation` compares whole systems.

Must not know: the terminal. It may use everything the agent offers; the agent never imports it.
"""
