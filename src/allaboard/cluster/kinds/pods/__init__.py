"""What a pod must look like, whether it stands alone or in a template.

Start with `spec.py` (the rules in the order they are reported), then `strategy.py`.
"""
