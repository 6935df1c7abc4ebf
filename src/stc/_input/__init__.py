"""Input: data of any kind as Observations, y as a Target, sample weights and theta, all checked."""
