"""stc: the Sparse Tensor Classifier, an explainable classifier for categorical data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stc._utils import forking as _forking  # noqa: F401 (it notices forks from here on)
from stc._version import __version__ as __version__

if TYPE_CHECKING:
    from stc._training.phases import PhaseLearner as PhaseLearner
    from stc._training.policy_search import PolicyAgent as PolicyAgent
    from stc.classifier import SparseTensorClassifier as SparseTensorClassifier
    from stc.classifier import load as load
    from stc.datasets import load_zoo as load_zoo
    from stc.exceptions import HardlyCategoricalWarning as HardlyCategoricalWarning
    from stc.exceptions import ModelFileError as ModelFileError
    from stc.exceptions import NeverLearntError as NeverLearntError
    from stc.exceptions import StoreError as StoreError
    from stc.explain import Contrast as Contrast
    from stc.explain import Counterfactual as Counterfactual
    from stc.explain import GlobalExplanation as GlobalExplanation
    from stc.explain import LocalExplanation as LocalExplanation
    from stc.model_selection import SparseTensorClassifierCV as SparseTensorClassifierCV
    from stc.settings import CLASSICAL as CLASSICAL
    from stc.settings import QUANTUM as QUANTUM
    from stc.settings import STC_C as STC_C
    from stc.settings import STC_Q as STC_Q
    from stc.sources import Source as Source
    from stc.sources import source as source
    from stc.stores import ModelStore as ModelStore
    from stc.stores import StoredModel as StoredModel
    from stc.stores import open_store as open_store

# Where each public name lives. It is imported when it is first asked for: the command `stc` shows
# its help before scikit-learn is there.
_HOMES = {
    "CLASSICAL": "stc.settings",
    "Contrast": "stc.explain",
    "Counterfactual": "stc.explain",
    "GlobalExplanation": "stc.explain",
    "HardlyCategoricalWarning": "stc.exceptions",
    "LocalExplanation": "stc.explain",
    "ModelFileError": "stc.exceptions",
    "ModelStore": "stc.stores",
    "NeverLearntError": "stc.exceptions",
    "PhaseLearner": "stc._training.phases",
    "PolicyAgent": "stc._training.policy_search",
    "QUANTUM": "stc.settings",
    "STC_C": "stc.settings",
    "STC_Q": "stc.settings",
    "Source": "stc.sources",
    "SparseTensorClassifier": "stc.classifier",
    "SparseTensorClassifierCV": "stc.model_selection",
    "StoreError": "stc.exceptions",
    "StoredModel": "stc.stores",
    "load": "stc.classifier",
    "load_zoo": "stc.datasets",
    "open_store": "stc.stores",
    "source": "stc.sources",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stc' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
