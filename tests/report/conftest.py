"""The report of the Zoo."""

import numpy as np
import pytest

from stc import load_zoo
from stc.report import Report, report
from support.models import paper_model


@pytest.fixture(scope="module")
def zoo():
    X, y = load_zoo()
    train = np.arange(len(X)) % 3 != 0
    model = paper_model().fit(X.filter(train), y.filter(train))
    return model, X.filter(~train), y.filter(~train)


@pytest.fixture(scope="module")
def zoo_page(zoo) -> Report:
    return report(*zoo, title="Zoo & co")
