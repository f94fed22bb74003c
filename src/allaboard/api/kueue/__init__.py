"""The API `kueue.x-k8s.io`: types, definitions, defaults, rules and conversion. All of it pure.

`v1beta2` is what is stored and what the types show; `v1beta1` is served and described by its
differences. May import the rest of `api` and nothing else of this package. Start with
`types/queues.py` for the objects, `crd/definitions.py` for what is served, `validation.py` for
what is refused.
"""
