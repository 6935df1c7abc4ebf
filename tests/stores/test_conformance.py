"""The stores that need no server, against memory."""

from support.conformance import StoreBehaviour, StoreConformance


class TestStores(StoreConformance):
    """Every kind of model."""


class TestStoreBehaviour(StoreBehaviour):
    """What does not depend on the kind."""
