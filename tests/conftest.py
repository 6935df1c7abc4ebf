"""What every test shares."""

import os

# Without it scikit-learn skips its array-API checks; it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
