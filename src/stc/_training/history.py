"""Columns of the tables that record how a policy and phases were learnt."""

from __future__ import annotations

import polars as pl

# The states that the search of a policy visited.
POLICY_STATES = pl.Schema(
    {
        "state": pl.List(pl.String()),
        "value": pl.Float64(),
        "iterations": pl.Int64(),
        "items": pl.Int64(),
    }
)

# The steps of the descents that learnt the phases.
PHASE_HISTORY = pl.Schema(
    {
        "penalty": pl.Float64(),
        "fold": pl.Int64(),
        "start": pl.Int64(),
        "iteration": pl.Int64(),
        "loss": pl.Float64(),
        "held_out_loss": pl.Float64(),
        "held_out_accuracy": pl.Float64(),
    }
)
