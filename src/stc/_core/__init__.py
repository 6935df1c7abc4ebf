"""The corpus, the model that holds it, and the formulas that turn it into probabilities."""
