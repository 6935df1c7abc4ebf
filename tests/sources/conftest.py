"""What tests of sources share."""

from support.edge_cases import url

__all__ = ["url"]
