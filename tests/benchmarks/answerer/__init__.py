"""Teaches an answering model to answer from passages and to judge sentences by them: an experiment.

The package does not use what it makes yet. After an hour on two cores it refutes false claims well, and
right answers to questions on real documents too, because every supported claim it saw is a hard paraphrase.
The answers' own sentences must be among the supported claims before it is trained again.
"""
