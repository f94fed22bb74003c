"""Recorded conversations with a real kube-apiserver, replayed against ours."""
