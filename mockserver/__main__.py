"""`python -m mockserver`."""

from mockserver.cli import main

if __name__ == "__main__":
    main()
