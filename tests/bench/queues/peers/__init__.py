"""Programs for one queue each: `python FILE URL jobs|die|rescue`; they need that queue's package.

- `jobs` enqueues JOBS jobs of two steps, whose results are rows of `_steps`, then runs them, and
  prints when it begins to run and when all are done.
- `die` enqueues one job and runs it: it says so in `_marks`, and does not end.
- `rescue` runs what there is; the job says so in `_marks`, and ends.
"""
