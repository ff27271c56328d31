"""Entry of `python3 scripts/local-model`, which `./quickstart` calls."""

import sys

from local_model.cli import main

sys.exit(main(sys.argv[1:]))
