"""How many examples the property tests of the rules run: 100, and 2,000 in `make test-all`."""

import os

from hypothesis import settings

from support.strategies import PROFILE

EXAMPLES = int(os.environ.get("STC_EXAMPLES", "100"))


def many(most: int = EXAMPLES, **changes: object) -> settings:
    """The settings of a property test of a rule, with fewer examples where one takes long.

    ``changes`` are those of hypothesis.
    """
    return settings(PROFILE, max_examples=min(EXAMPLES, most), **changes)
