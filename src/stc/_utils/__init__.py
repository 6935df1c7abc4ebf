"""Helpers that know nothing of models: atomic files, threads, optional imports, progress."""
