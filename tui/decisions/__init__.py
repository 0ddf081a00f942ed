"""Decisions as steps of a decision process: show, label and exchange them."""
