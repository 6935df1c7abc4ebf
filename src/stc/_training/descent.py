"""Gradient descent over phases and sharpness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from stc._core.formulas import Floats
from stc._training.crossfit import CrossFit
from stc._training.objective import Metrics, Objective

# Standard deviation of the random phases at the start: zero is a stationary point.
_START = 0.1
# Bound of |ln(sharpness)|.
_MAX_LOG_SHARPNESS = 6.0
# Options of L-BFGS.
_LBFGS = {"maxcor": 20, "ftol": 1e-7, "gtol": 1e-7}
# Options of Adam: steps, learning rate at the start, decay rates of the moments, epsilon.
_ADAM_STEPS, _ADAM_RATE, _ADAM_DECAY, _ADAM_EPSILON = 300, 0.03, (0.9, 0.999), 1e-12

# Called after each step with its number from 1, the loss, and `ln P` of the items; True stops.
Callback = Callable[[int, float, Floats], bool | None]


class Point(NamedTuple):
    """A point of the search space: the phases and the sharpness."""

    angles: Floats
    sharpness: float

    @classmethod
    def of_vector(cls, x: Floats) -> Point:
        """Return the point of a vector of the angles and `ln(sharpness)`."""
        return cls(x[:-1], float(np.exp(x[-1])))

    def vector(self) -> Floats:
        """Return the angles and `ln(sharpness)` as one vector."""
        return np.append(self.angles, np.log(self.sharpness))

    def wrapped(self) -> Point:
        """Return the point with its angles in (-pi, pi]."""
        return Point(np.asarray(np.pi - (np.pi - self.angles) % (2 * np.pi)), self.sharpness)


@dataclass(frozen=True)
class Descent:
    """Minimiser of `cross-entropy + lambda sharpness sum(1 - cos phi) / (m n)`.

    Attributes
    ----------
    objective
        The cross-entropy.
    penalty
        `lambda / (m n)`.
    """

    objective: Objective
    penalty: float

    def run(self, start: Point, max_iter: int, callback: Callback) -> Point:
        """Minimise by L-BFGS, preconditioned by how often each entry occurs."""
        scale = np.append(self.objective.preconditioner, 1.0)
        last: tuple[float, Floats] = (0.0, start.angles)

        def value(u: Floats) -> tuple[float, Floats]:
            nonlocal last
            point = Point.of_vector(u * scale)
            loss, gradient, log_P = self.penalised(self.objective, point)
            last = loss, log_P
            gradient[-1] *= point.sharpness  # by the logarithm of the sharpness
            return loss, gradient * scale

        steps = 0

        def after_step(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            if callback(steps, *last):
                raise StopIteration

        unbounded = [(None, None)] * len(start.angles)
        # The vectors are too short for threads to be faster.
        with threadpool_limits(1, user_api="blas"):
            result = optimize.minimize(
                value,
                start.vector() / scale,
                jac=True,
                method="L-BFGS-B",
                bounds=[*unbounded, (-_MAX_LOG_SHARPNESS, _MAX_LOG_SHARPNESS)],
                callback=after_step,
                options={"maxiter": max_iter, **_LBFGS},
            )
        return Point.of_vector(result.x * scale).wrapped()

    def run_batches(self, start: Point, draw: Callable[[], Objective], callback: Callback) -> Point:
        """Minimise by Adam, each step on another batch of the items."""
        x = start.vector()
        mean, square = np.zeros_like(x), np.zeros_like(x)
        for step in range(1, _ADAM_STEPS + 1):
            point = Point.of_vector(x)
            loss, gradient, log_P = self.penalised(draw(), point)
            gradient[-1] *= point.sharpness
            callback(step, loss, log_P)
            mean += (1 - _ADAM_DECAY[0]) * (gradient - mean)
            square += (1 - _ADAM_DECAY[1]) * (gradient**2 - square)
            unbiased = mean / (1 - _ADAM_DECAY[0] ** step), square / (1 - _ADAM_DECAY[1] ** step)
            rate = _ADAM_RATE * (1 - (step - 1) / _ADAM_STEPS)
            x = x - rate * unbiased[0] / (np.sqrt(unbiased[1]) + _ADAM_EPSILON)
            x[-1] = np.clip(x[-1], -_MAX_LOG_SHARPNESS, _MAX_LOG_SHARPNESS)
        return Point.of_vector(x).wrapped()

    def penalised(self, objective: Objective, point: Point) -> tuple[float, Floats, Floats]:
        """Return the penalised loss, its derivatives by angles and sharpness, and `ln P`."""
        plain = objective.gradient(*point)
        penalty = self.penalty * float((1 - np.cos(point.angles)).sum())
        gradient = plain.angles + self.penalty * point.sharpness * np.sin(point.angles)
        loss = plain.loss + point.sharpness * penalty
        return loss, np.append(gradient, plain.sharpness + penalty), plain.log_probabilities


def scaled_penalty(penalty: float, cross: CrossFit, weight: Floats) -> float:
    """Return `lambda / (m n)`: m values per item, items of total weight n."""
    return penalty / (max(cross.values_per_item, 1.0) * max(float(weight.sum()), 1.0))


def random_start(cross: CrossFit, random_state: Any) -> Point:
    """Return small random phases; the gradient at zero phases is zero."""
    generator = check_random_state(random_state)
    return Point(generator.normal(0.0, _START, cross.mass.nnz), 1.0)


def best_sharpness(objective: Objective) -> tuple[float, Metrics]:
    """Return the sharpness with the lowest log-loss without phases, and its metrics."""
    log_scores = objective.log_scores(np.zeros(objective.amplitudes.shape[1]))

    def metrics(log_sharpness: float) -> Metrics:
        log_P = objective.log_probabilities(log_scores, float(np.exp(log_sharpness)))
        return objective.metrics(log_P)

    bounds = (-_MAX_LOG_SHARPNESS, _MAX_LOG_SHARPNESS)
    best = optimize.minimize_scalar(lambda s: metrics(s).loss, bounds=bounds, method="bounded").x
    if metrics(best).loss < metrics(0.0).loss:
        return float(np.exp(best)), metrics(best)
    return 1.0, metrics(0.0)
