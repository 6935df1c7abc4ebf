"""What every test shares."""

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("support")

# On CI the same examples every time: a search belongs where someone can look at what it finds.
settings.register_profile("ci", derandomize=True, deadline=None)
# The machine may be busy with something else.
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Figures are drawn into files, on whatever machine.
os.environ.setdefault("MPLBACKEND", "Agg")

# Without it scikit-learn skips its array-API checks; it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
