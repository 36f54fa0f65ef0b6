"""What is made of a challenge for keeps: reports, and an archive that replays offline."""
