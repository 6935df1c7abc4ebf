"""Reports: a model, its evaluation and its explanations in one self-contained HTML page."""

from stc.report.page import Report, report

__all__ = ["Report", "report"]
