"""What a Job and a CronJob must look like, and how their status may move.

Start with `spec.py`; `update.py` says what stays mutable, `status.py` what a controller may write.
"""
