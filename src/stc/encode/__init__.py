"""Encode: anything a user has -> Observations, and labels -> a Column of classes."""

from stc.encode.containers import encode
from stc.encode.target import encode_sample_weight, encode_target

__all__ = ["encode", "encode_sample_weight", "encode_target"]
