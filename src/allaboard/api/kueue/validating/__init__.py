"""What may an object of `kueue.x-k8s.io` say? One module per family of kinds, all of it pure.

Each `validate_<kind>(obj, old)` takes v1beta2 data and returns what is wrong with it; it never
raises, whatever it is given. On an update only what changed is judged again, so that a rule made
later cannot freeze an object that is already stored. Start with `reading.py`, then `queues.py`;
`shape.py` judges against the schema what the API server would.
"""
