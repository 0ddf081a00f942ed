"""Teaching the boxed reader: one encoder that finds answers in a passage and judges claims by it.

Read it in this order: `data` (what it learns from), `passages` (as the product shows it), `rows` (as
tokens), `network` (published weights and new heads, int8 ONNX), `training`, `held_out`,
`calibration` and `evaluation`, `making` (all of it in one command).

Left out, on purpose: distillation from a larger reader, dropout (one pass over the data at most), mined
negatives by vectors (the keyword search finds those that look right word by word), quantisation-aware
training (int8 moves one start of an answer in twenty).
"""
