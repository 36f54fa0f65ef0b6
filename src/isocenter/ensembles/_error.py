"""What is wrong with a question, or with the votes that should answer it."""


class EnsembleError(ValueError):
    """A combination that cannot be made, scored or chosen; the message says why."""
