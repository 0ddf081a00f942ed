"""The screens, one a module, each with its style sheet beside it."""
