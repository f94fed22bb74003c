"""The controllers a Kubernetes has: Jobs, garbage collection, namespaces, service accounts, TTL.

Start with: `install.py`.
"""
