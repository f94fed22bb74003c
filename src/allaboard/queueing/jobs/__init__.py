"""Job ⇄ Workload: what does an object need so that it can be queued, started, stopped, finished?

May import: `runtime`, `client`, `api`, `clock`; nothing of it decides about quota. One file a kind
(`batch_job.py`, `pod.py`, `pod_group.py`), one reconciler for all of them.
Start with: `adapter.py` (what a kind must answer), then `plan.py` (what is done next, pure), then
`reconciler.py` (the shell around it).
"""
