"""A Kubernetes in one process: store, server, admission, kubelets, Job controller, scheduler, GC.

May import: `runtime`, `client`, `api`, `clock`; never `queueing`, `jobset` or `web`.
Start with: `resource.py` (what a served kind is), then `server/` (a request's way through) and
`store/` (where objects live). `controllers/`, `scheduling/` and `kubelet/` are ordinary clients.
"""
