"""The sharpness calibrates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from stc import PhaseLearner, load_zoo
from support.models import paper_model
from support.tuning_cases import INF, animals


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibration_lowers_the_log_loss(method: str) -> None:
    (X, y), (fresh, truth) = animals(300, 0), animals(600, 1)
    plain = paper_model().fit(X, y)
    calibrated = CalibratedClassifierCV(paper_model(), method=method, cv=3).fit(X, y)
    assert calibrated.classes_.tolist() == ["B", "F", "M"]
    losses = [log_loss(truth, own.predict_proba(fresh)) for own in (plain, calibrated)]
    assert losses[1] < 0.7 * losses[0]
    assert calibrated.score(fresh, truth) > plain.score(fresh, truth) - 0.02


def test_the_sharpness_calibrates_and_changes_no_prediction() -> None:
    X, y = load_zoo()
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    learner = PhaseLearner(penalties=(INF,))
    models = [paper_model(), paper_model(phases=learner)]
    P, Q = (cross_val_predict(own, X, y, cv=cv, method="predict_proba") for own in models)
    assert_array_equal(P.argmax(axis=1), Q.argmax(axis=1))
    assert log_loss(y, Q) < 0.5 * log_loss(y, P)
    plain, sharp = (own.fit(X, y) for own in models)
    assert_array_equal(plain.predict(X), sharp.predict(X))
    before, after = np.log(plain.predict_proba(X[:40])), np.log(sharp.predict_proba(X[:40]))
    finite = np.isfinite(before)
    order = [own[row][finite[row]].argsort().tolist() for row in range(40) for own in (before,)]
    assert order == [after[row][finite[row]].argsort().tolist() for row in range(40)]
    ratios = [
        (np.ptp(after[row][finite[row]]) / np.ptp(before[row][finite[row]]))
        for row in range(40)
        if finite[row].sum() > 1
    ]
    assert_allclose(ratios, ratios[0], rtol=1e-9)  # one power for all
    assert ratios[0] > 1
