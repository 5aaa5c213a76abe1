"""``python -m wordferry`` is the command ``wordferry``."""

from wordferry.cli import main

if __name__ == "__main__":
    main()
