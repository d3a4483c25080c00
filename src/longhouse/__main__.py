"""`python -m longhouse`: the command line."""

import sys

from longhouse.surfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())
