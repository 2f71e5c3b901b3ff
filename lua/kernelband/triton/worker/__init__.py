"""Judges Triton candidates: see __main__.py."""
