"""How the checks of scikit-learn are run."""

from collections.abc import Callable
from unittest import SkipTest

import pytest

from stc import HardlyCategoricalWarning, SparseTensorClassifier

# scikit-learn feeds measurements, of which we rightly complain.
measurements = pytest.mark.filterwarnings(
    f"ignore::{HardlyCategoricalWarning.__module__}.{HardlyCategoricalWarning.__qualname__}"
)


def run_check(
    estimator: SparseTensorClassifier, check: Callable[[SparseTensorClassifier], None]
) -> None:
    """Run a check; none may be skipped but those of a method that we do not have."""
    try:
        check(estimator)
    except SkipTest as skipped:
        assert "does not have a decision_function" in str(skipped)  # noqa: PT017
