"""Helpers that do not depend on models: atomic files, threads, optional imports, progress."""
