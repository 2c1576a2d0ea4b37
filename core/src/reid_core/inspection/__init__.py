"""A close look at plugins: what they declare, what they do, and what is wrong with them.

Metadata is read here, code is not run: what has to be imported to be judged is imported by
:mod:`reid_core.inspection.probe` in a process of its own, and only that one needs torch.
"""
