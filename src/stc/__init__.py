"""stc: the Sparse Tensor Classifier, an explainable classifier for categorical data."""

from stc.agent import PolicyAgent
from stc.classifier import SparseTensorClassifier
from stc.corpus import NeverLearntError
from stc.datasets import load_zoo
from stc.explain import Contrast, Counterfactual, GlobalExplanation, LocalExplanation
from stc.phases import PhaseLearner
from stc.sources import source
from stc.stores import StoreError
from stc.tuning import SparseTensorClassifierCV
from stc.workings import HardlyCategoricalWarning

__all__ = [
    "Contrast",
    "Counterfactual",
    "GlobalExplanation",
    "HardlyCategoricalWarning",
    "LocalExplanation",
    "NeverLearntError",
    "PhaseLearner",
    "PolicyAgent",
    "SparseTensorClassifier",
    "SparseTensorClassifierCV",
    "StoreError",
    "load_zoo",
    "source",
]
__version__ = "0.1.0"
