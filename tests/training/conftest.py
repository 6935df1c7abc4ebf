"""What the tests of this folder share."""

import pytest

from stc import SparseTensorClassifier
from support.phase_cases import PLAIN, equal_or_not, model


@pytest.fixture(scope="module")
def twins() -> SparseTensorClassifier:
    """A model that has learnt by phases what is equal."""
    return model(PLAIN, phases="learn").fit(*equal_or_not(200, 3))
