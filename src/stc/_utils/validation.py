"""Constraints of parameters: the one place that uses scikit-learn's private validation."""

from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions

__all__ = ["Interval", "InvalidParameterError", "StrOptions"]
