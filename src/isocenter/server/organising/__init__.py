"""What organisers do: bring a challenge, change it, decide, publish."""
