"""What is chosen or learnt beyond counts: folds, phases, policies, label thresholds."""
