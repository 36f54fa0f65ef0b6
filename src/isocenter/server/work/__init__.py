"""The queue and those who work it: from a submission to its scores, and from scores to boards."""
