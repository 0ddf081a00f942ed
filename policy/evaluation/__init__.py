"""How good a policy is: policies are walked over whole trees of decisions, every claim with its interval.

What is scored is the policy, never the classifier inside it: one early stop hides every later state.
"""
