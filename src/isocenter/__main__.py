"""`python -m isocenter`: the command line, for where its program is not on the path."""

from isocenter.cli import main

if __name__ == "__main__":
    main()
