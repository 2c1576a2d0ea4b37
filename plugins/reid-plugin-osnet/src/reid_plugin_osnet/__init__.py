"""OSNet backbones for reid-core.

``osnet``, ``osnet_ibn`` and ``osnet_ain`` hold the factories that configs name, ``network`` the
network they build, ``stages``, ``blocks`` and ``layers`` its parts, ``weights`` the loading of
released files, ``timm_models`` the same networks for timm's ``create_model``, ``recipes`` ready
configs.
"""
