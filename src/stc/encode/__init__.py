"""Encode: anything a user has -> Observations, and labels -> a Column of classes."""

from stc.encode.containers import encode
from stc.encode.split import column_of, split_targets
from stc.encode.target import encode_classes, encode_sample_weight, encode_target, encode_targets
from stc.encode.theta import with_theta

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
