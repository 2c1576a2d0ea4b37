"""What the plugins of this project provide, so that a missing one can be named."""

from __future__ import annotations

from collections.abc import Mapping

#: Names by distribution, by kind; a test compares them with the distributions themselves.
KNOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "datasets": {
        "reid-plugin-datasets": (
            "atrw",
            "cuhk01",
            "cuhk02",
            "cuhk03",
            "cuhk_sysu",
            "dukemtmc",
            "dukemtmc_videoreid",
            "grid",
            "ilids",
            "ltcc",
            "luperson",
            "mars",
            "msmt17",
            "occluded_duke",
            "occluded_reid",
            "p_dukemtmc",
            "partial_reid",
            "prcc",
            "prid",
            "regdb",
            "sensereid",
            "sysu_mm01",
            "university1652",
            "vehicleid",
            "veri776",
            "veri_wild",
            "viper",
            "wildlife",
        )
    },
    "backbones": {
        "reid-plugin-osnet": (
            "osnet_x1_0",
            "osnet_x0_75",
            "osnet_x0_5",
            "osnet_x0_25",
            "osnet_ibn_x1_0",
            "osnet_ibn_x0_75",
            "osnet_ibn_x0_5",
            "osnet_ibn_x0_25",
            "osnet_ain_x1_0",
            "osnet_ain_x0_75",
            "osnet_ain_x0_5",
            "osnet_ain_x0_25",
        ),
        "reid-plugin-timm": ("timm",),
    },
    "heads": {"reid-plugin-heads": ("bnneck", "linear", "embedding", "attribute", "pcb")},
    "models": {"reid-plugin-heads": ("lmbn", "mgn", "transreid")},
    "losses": {
        "reid-plugin-losses": (
            "attribute_bce",
            "center",
            "circle",
            "contrastive",
            "contrastive_memory",
            "cosface",
            "cross_entropy",
            "focal",
            "info_nce",
            "multi_similarity",
            "proxy_anchor",
            "supervised_contrastive",
            "triplet",
        ),
        "reid-plugin-pml": ("pml",),
    },
    "hooks": {
        "reid-plugin-hooks": (
            "csv",
            "early_stopping",
            "ema",
            "freeze",
            "gradient_norm",
            "precise_bn",
            "profiler",
            "swa",
        ),
        "reid-plugin-mlflow": ("mlflow",),
        "reid-plugin-ray": ("ray_tune",),
        "reid-plugin-tensorboard": ("tensorboard",),
        "reid-plugin-wandb": ("wandb",),
    },
    "optimizers": {
        "reid-plugin-timm": (
            "timm",
            "adabelief",
            "adafactorbv",
            "adamp",
            "adan",
            "adopt",
            "lamb",
            "laprop",
            "lars",
            "lion",
            "mars",
            "nadamw",
            "novograd",
            "rmsproptf",
            "sgdp",
            "sgdw",
        )
    },
    "recipes": {"reid-plugin-baselines": ("baselines",), "reid-plugin-osnet": ("osnet",)},
}


def provider_of(kind: str, name: str) -> str | None:
    """Return the distribution of this project that provides a component, or None.

    Args:
        kind: Component kind.
        name: Plain, or qualified by that distribution.
    """
    dist, _, plain = name.rpartition("/")
    for known, names in KNOWN.get(kind, {}).items():
        if plain in names and dist in ("", known):
            return known
    return None
