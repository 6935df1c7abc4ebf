"""The corpus, the model that holds it, and the formulas for scores and probabilities."""
