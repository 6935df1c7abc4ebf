"""Input: data of any kind as checked Observations, y as a Target, weights and theta as arrays."""

from stc._input.containers import encode
from stc._input.frames import column_of, split_targets
from stc._input.targets import encode_classes, encode_target, encode_targets
from stc._input.theta import with_theta
from stc._input.weights import encode_sample_weight

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
