"""Training beyond counting: phases, policies, label thresholds and hyper-parameters."""
