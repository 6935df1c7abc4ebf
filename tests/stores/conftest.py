"""What tests of stores share."""

from support.edge_cases import url

__all__ = ["url"]
