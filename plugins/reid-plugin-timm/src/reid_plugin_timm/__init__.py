"""Any timm model as a re-identification backbone for reid-core.

``backbone`` is the component that configs name; ``build`` creates the network, ``weights`` fills
it from a local file, ``stride`` keeps the resolution of the last stage, ``layout`` finds out what
the network returns, ``names`` answers misspelt names.
"""
