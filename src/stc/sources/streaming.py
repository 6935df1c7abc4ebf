"""What to do with data that comes in batches: to learn from it, and to answer for it."""

from stc.sources.answering import (
    Answer,
    AnsweringTask,
    coverages,
    joined,
    log_probabilities,
    predictions,
    probabilities,
)
from stc.sources.learning import LearningTask
from stc.sources.reading import Reading, items_of, scan_of, told

__all__ = [
    "Answer",
    "AnsweringTask",
    "LearningTask",
    "Reading",
    "coverages",
    "items_of",
    "joined",
    "log_probabilities",
    "predictions",
    "probabilities",
    "scan_of",
    "told",
]
