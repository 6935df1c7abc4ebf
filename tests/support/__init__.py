"""What tests share: oracles, strategies, cases, stress runs."""
