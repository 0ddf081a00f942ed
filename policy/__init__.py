"""Learning to decide: from what was decided to a policy that decides better.

Owns: questions whose answers are known and how they are collected (`collecting`), trees of decisions and
what each action is worth, the trainers (`forest`, `encoder`, `causal`, led by `training`), calibration and
the frozen rule, walks of policies over trees with their intervals (`evaluation`), policy folders, which one
is active and the gate before it, and whole systems held against each other (`systems`).

Must not know: the terminal. It may use everything the agent offers; the agent never imports it.
"""
