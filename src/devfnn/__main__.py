"""`python -m devfnn`."""

from devfnn.cli import main

if __name__ == "__main__":
    main()
