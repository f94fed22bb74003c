"""Shared by all tests: nothing but plumbing."""
