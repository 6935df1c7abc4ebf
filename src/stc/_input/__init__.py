"""Encode: anything a user has -> Observations, and labels -> a Column of classes."""

from stc._input.columns import column_of, split_targets
from stc._input.containers import encode
from stc._input.targets import encode_classes, encode_sample_weight, encode_target, encode_targets
from stc._input.theta import with_theta

__all__ = [
    "column_of",
    "encode",
    "encode_classes",
    "encode_sample_weight",
    "encode_target",
    "encode_targets",
    "split_targets",
    "with_theta",
]
