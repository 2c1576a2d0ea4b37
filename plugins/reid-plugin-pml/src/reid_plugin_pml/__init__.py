"""Any loss and miner of pytorch-metric-learning as the loss ``pml``.

``catalogue`` knows the library's classes and their parameters, ``sizes`` fills some in, ``build``
makes objects of them, ``memory`` and ``mining`` wrap two of them, and ``loss`` is the component.
"""
