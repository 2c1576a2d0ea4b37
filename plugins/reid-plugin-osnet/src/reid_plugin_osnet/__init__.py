"""OSNet backbones for reid-core.

``osnet`` holds the networks and the factories that configs name, ``blocks`` their parts,
``weights`` the loading of released files, ``recipes`` ready configs.
"""
