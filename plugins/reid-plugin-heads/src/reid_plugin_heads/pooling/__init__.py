"""Pooling layers: a map or tokens to one vector an image.

``base`` is the interface, ``mean_max``, ``gem``, ``class_token``, ``token_mean`` and ``attention``
are the layers, ``build`` names them for configs.
"""
