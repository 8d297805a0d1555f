"""`python -m onward`: the same as the program `onward`."""

import sys

from onward.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
