"""Pooling layers: a map or tokens to one vector an image.

``base`` is the interface, ``mean_max``, ``gem`` and ``class_token`` are the layers, ``build``
names them for configs.
"""
