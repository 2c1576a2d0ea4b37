"""What looks at one component, in a process of its own: ``python -m reid_core.inspection.probe``.

The component may print, hang, crash or exit, and change whatever a process has only one of. Only
here, and only there, inspection imports torch and the code of plugins.
"""
