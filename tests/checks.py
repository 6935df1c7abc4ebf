"""scikit-learn's checks, of which none may be skipped but those of a method that we do not have."""

from collections.abc import Callable
from unittest import SkipTest

from stc import SparseTensorClassifier


def run_check(
    estimator: SparseTensorClassifier, check: Callable[[SparseTensorClassifier], None]
) -> None:
    try:
        check(estimator)
    except SkipTest as skipped:
        assert "does not have a decision_function" in str(skipped)  # noqa: PT017
