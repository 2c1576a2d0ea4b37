"""Every component of the core itself passes the kit."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from reid_core.data.datasets.market1501 import market1501
from reid_core.data.packing import Recoding, pack
from reid_core.plugins.index import installed
from reid_core.testing import (
    DatasetConformance,
    HookConformance,
    ModelConformance,
    OptimizerConformance,
    ProtocolConformance,
    RerankerConformance,
    SamplerConformance,
    ScheduleConformance,
    TransformConformance,
    write_tiny_market,
)

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("core_components")

DIST = "reid-core"


def _market_paths(folder: Path) -> list[str]:
    root = write_tiny_market(folder)
    return sorted(file.relative_to(root).as_posix() for file in root.glob("*/*.png"))


class TestBaseline(ModelConformance):
    name = "baseline"
    dist = DIST


class TestMarket1501(DatasetConformance):
    name = "market1501"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        return {"root": str(write_tiny_market(folder))}


class TestPacked(DatasetConformance):
    name = "packed"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        pytest.importorskip("lmdb")
        manifest = market1501(write_tiny_market(folder / "files"))
        pack(manifest, folder / "packed", Recoding())
        return {"root": str(folder / "packed")}


class TestFolder(DatasetConformance):
    name = "folder"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        write_tiny_market(folder)
        return {"root": str(folder), "pattern": "{split}/{pid}_c{camid:d}s*"}


class TestFolderOfIdentities(DatasetConformance):
    name = "folder"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        for image in (write_tiny_market(folder / "market") / "bounding_box_train").iterdir():
            identity = folder / "mine" / image.name.partition("_")[0]
            identity.mkdir(parents=True, exist_ok=True)
            image.rename(identity / image.name)
        return {"root": str(folder / "mine")}


class TestCsv(DatasetConformance):
    name = "csv"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        lines = ["path,pid,camid,split,bbox,species"]
        for place, path in enumerate(_market_paths(folder)):
            pid, camera = Path(path).name.split("_")[:2]
            lines.append(f"{path},{pid},{camera[:2]},{path.split('/')[0]},1 1 4 {4 + place % 3},x")
        (folder / "mine.csv").write_text("\n".join(lines), encoding="utf-8")
        return {"file": str(folder / "mine.csv")}


class TestParquet(DatasetConformance):
    name = "parquet"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
        import pyarrow.parquet as pq

        paths = _market_paths(folder)
        pids = [Path(path).name.partition("_")[0] for path in paths]
        splits = [path.partition("/")[0] for path in paths]
        table = pa.table({"path": paths, "pid": pids, "split": splits})
        pq.write_table(table, folder / "mine.parquet")
        return {"file": str(folder / "mine.parquet")}


class TestCoco(DatasetConformance):
    name = "coco"
    dist = DIST
    parameters = {"camera": "location", "split": "part"}

    def prepare(self, folder: Path) -> Mapping[str, object]:
        images = [
            {"id": place, "file_name": path, "location": path[-18], "part": path.split("/")[0]}
            for place, path in enumerate(_market_paths(folder))
        ]
        annotations = [
            {"image_id": image["id"], "pid": str(image["file_name"])[-22:-18], "bbox": [1, 1, 4, 4]}
            for image in images
        ]
        content = {"images": images, "annotations": annotations}
        (folder / "mine.json").write_text(json.dumps(content), encoding="utf-8")
        return {"file": str(folder / "mine.json")}


class TestMot(DatasetConformance):
    name = "mot"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        sequence = folder / "SEQ-01"
        (sequence / "gt").mkdir(parents=True, exist_ok=True)
        (sequence / "img1").mkdir(exist_ok=True)
        for frame in (1, 2):
            Image.new("RGB", (20, 20)).save(sequence / "img1" / f"{frame:06d}.jpg")
        lines = [f"{frame},{track},1,1,9,9,1,1,1" for track in (1, 2) for frame in (1, 2)]
        (sequence / "gt" / "gt.txt").write_text("\n".join(lines), encoding="utf-8")
        return {"root": str(folder)}


class TestSynthetic(DatasetConformance):
    name = "synthetic"
    dist = DIST
    parameters = {"identities": 4, "test_identities": 2, "cameras": 2, "shots": 2}

    def prepare(self, folder: Path) -> Mapping[str, object]:
        return {"root": str(folder)}


class TestIdentitySampler(SamplerConformance):
    name = "identity"
    dist = DIST
    parameters = {"identities": 4, "instances": 3}


class TestIdentitySamplerOfOneGroup(SamplerConformance):
    name = "identity"
    dist = DIST
    parameters = {"identities": 4, "instances": 3, "rule": "one_group"}


class TestBalancedIdentitySampler(SamplerConformance):
    name = "balanced_identity"
    dist = DIST
    parameters = {"identities": 4, "instances": 3}


class TestWeightedSampler(SamplerConformance):
    name = "weighted"
    dist = DIST
    parameters = {"weights": {"first": 3, "second": 1}, "instances": 3}


class TestImbalancedSampler(SamplerConformance):
    name = "imbalanced"
    dist = DIST
    parameters = {"size": 8}


class TestRandomSampler(SamplerConformance):
    name = "random"
    dist = DIST
    parameters = {"size": 8}


class TestRandomFlip(TransformConformance):
    name = "random_flip"
    dist = DIST


class TestPadCrop(TransformConformance):
    name = "pad_crop"
    dist = DIST


class TestRandomTranslation(TransformConformance):
    name = "random_translation"
    dist = DIST


class TestRandomResizedCrop(TransformConformance):
    name = "random_resized_crop"
    dist = DIST


class TestRandomAffine(TransformConformance):
    name = "random_affine"
    dist = DIST


class TestColorJitter(TransformConformance):
    name = "color_jitter"
    dist = DIST


class TestRandomGrayscale(TransformConformance):
    name = "random_grayscale"
    dist = DIST


class TestGaussianBlur(TransformConformance):
    name = "gaussian_blur"
    dist = DIST


class TestJpegCompression(TransformConformance):
    name = "jpeg_compression"
    dist = DIST


class TestAutoAugment(TransformConformance):
    name = "auto_augment"
    dist = DIST


class TestRandAugment(TransformConformance):
    name = "rand_augment"
    dist = DIST


class TestAugMix(TransformConformance):
    name = "aug_mix"
    dist = DIST


class TestRandomErasing(TransformConformance):
    name = "random_erasing"
    dist = DIST


class TestRandomPatch(TransformConformance):
    name = "random_patch"
    dist = DIST


class TestRandomLighting(TransformConformance):
    name = "random_lighting"
    dist = DIST


class TestSgd(OptimizerConformance):
    name = "sgd"
    dist = DIST
    parameters = {"momentum": 0.9, "nesterov": True}
    lr = 0.01


class TestAdam(OptimizerConformance):
    name = "adam"
    dist = DIST


class TestAdamW(OptimizerConformance):
    name = "adamw"
    dist = DIST


class TestAdadelta(OptimizerConformance):
    name = "adadelta"
    dist = DIST
    lr = 1.0


class TestAdafactor(OptimizerConformance):
    name = "adafactor"
    dist = DIST


class TestAdagrad(OptimizerConformance):
    name = "adagrad"
    dist = DIST


class TestAdamax(OptimizerConformance):
    name = "adamax"
    dist = DIST


class TestAsgd(OptimizerConformance):
    name = "asgd"
    dist = DIST


class TestMuon(OptimizerConformance):
    name = "muon"
    dist = DIST


class TestNAdam(OptimizerConformance):
    name = "nadam"
    dist = DIST


class TestRAdam(OptimizerConformance):
    name = "radam"
    dist = DIST


class TestRmsprop(OptimizerConformance):
    name = "rmsprop"
    dist = DIST
    parameters = {"momentum": 0.9}
    lr = 0.01


class TestRprop(OptimizerConformance):
    name = "rprop"
    dist = DIST

    def test_learning_rate_is_read_in_every_step(self) -> None:
        """It is the size of the first step alone, which every number takes up or down."""
        parameters = [nn.Parameter(torch.zeros(4, 3)), nn.Parameter(torch.zeros(4, 3))]
        optimizer = self.build_optimizer(parameters)
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 7.0)
        optimizer.step()
        assert parameters[0].unique().tolist() == pytest.approx([-self.lr])
        assert parameters[1].unique().tolist() == pytest.approx([-self.lr / 2])


class TestConstant(ScheduleConformance):
    name = "constant"
    dist = DIST


class TestMultiStep(ScheduleConformance):
    name = "multistep"
    dist = DIST
    parameters = {"milestones": [4, 8]}


class TestCosine(ScheduleConformance):
    name = "cosine"
    dist = DIST


class TestOneCycle(ScheduleConformance):
    name = "one_cycle"
    dist = DIST
    warmup_epochs = 0.0


class TestPolynomial(ScheduleConformance):
    name = "polynomial"
    dist = DIST
    parameters = {"power": 0.9, "min_lr": 0.001}


class TestExponential(ScheduleConformance):
    name = "exponential"
    dist = DIST
    parameters = {"gamma": 0.9}


class TestMarketProtocol(ProtocolConformance):
    name = "market1501"
    dist = DIST


class TestNoCamera(ProtocolConformance):
    name = "no_camera"
    dist = DIST


class TestCuhk03(ProtocolConformance):
    name = "cuhk03"
    dist = DIST


class TestLeaveOneOut(ProtocolConformance):
    name = "leave_one_out"
    dist = DIST


class TestLeaveOneOutOtherCameras(ProtocolConformance):
    name = "leave_one_out"
    dist = DIST
    parameters = {"other_cameras": True}


class TestOpenSet(ProtocolConformance):
    name = "open_set"
    dist = DIST


class TestTracklets(ProtocolConformance):
    name = "tracklets"
    dist = DIST


class TestMultiQuery(ProtocolConformance):
    name = "multi_query"
    dist = DIST


class TestMsmt17Protocol(ProtocolConformance):
    name = "msmt17"
    dist = DIST


class TestCuhk03NpProtocol(ProtocolConformance):
    name = "cuhk03_np"
    dist = DIST


class TestVeri776Protocol(ProtocolConformance):
    name = "veri776"
    dist = DIST


class TestVeri776Tracks(ProtocolConformance):
    name = "veri776_tracks"
    dist = DIST

    def query(self):
        return in_tracks(super().query())

    def gallery(self):
        return in_tracks(super().gallery())


class TestVeriWildProtocol(ProtocolConformance):
    name = "veri_wild"
    dist = DIST


class TestVehicleIdProtocol(ProtocolConformance):
    name = "vehicleid"
    dist = DIST

    def gallery(self):
        # One image of each identity, as the data set gives them.
        gallery = super().gallery()
        return gallery.take(np.unique(gallery.pids, return_index=True)[1])


class TestSysuMm01Protocol(ProtocolConformance):
    name = "sysu_mm01"
    dist = DIST

    def query(self):
        return in_modality(super().query(), "infrared", (3, 6, 6))

    def gallery(self):
        gallery = super().gallery()
        return in_modality(gallery.take(np.arange(80) % 40), "rgb", (1, 2, 4, 5))


class TestRegDbProtocol(ProtocolConformance):
    name = "regdb"
    dist = DIST


class TestPrccProtocol(ProtocolConformance):
    name = "prcc"
    dist = DIST

    def query(self):
        return in_clothes(super().query(), 1)

    def gallery(self):
        return in_clothes(super().gallery(), 0)


class TestLtccProtocol(ProtocolConformance):
    name = "ltcc"
    dist = DIST


class TestLtccChangedProtocol(ProtocolConformance):
    name = "ltcc"
    dist = DIST
    parameters = {"setting": "changed"}


class TestClothesChange(ProtocolConformance):
    name = "clothes_change"
    dist = DIST


class TestClothesChangeInAnyCamera(ProtocolConformance):
    name = "clothes_change"
    dist = DIST
    parameters = {"cameras": "any"}


class TestAtrwProtocol(ProtocolConformance):
    name = "atrw"
    dist = DIST

    def query(self):
        return in_recordings(super().query())

    def gallery(self):
        return in_recordings(super().gallery())


def with_columns(labels, **columns):
    return replace(labels, columns={**labels.columns, **columns})


def in_tracks(labels):
    # A track is of one identity in one camera.
    return with_columns(labels, tracklets=labels.pids * 10 + labels.camids)


def in_modality(labels, modality, cameras):
    camids = np.resize(cameras, len(labels))
    return with_columns(
        replace(labels, camids=camids),
        modalities=np.repeat(modality, len(labels)),
        places=np.where(camids == 3, 2, camids),
    )


def in_clothes(labels, number):
    return with_columns(labels, clothids=2 * labels.pids + number)


def in_recordings(labels):
    return with_columns(
        labels, sequences=labels.camids.astype(str), frames=np.arange(len(labels)) % 7
    )


class TestKReciprocal(RerankerConformance):
    name = "k_reciprocal"
    dist = DIST
    parameters = {"k1": 6, "k2": 3}


class TestAqe(RerankerConformance):
    name = "aqe"
    dist = DIST


class TestAlphaQe(RerankerConformance):
    name = "alpha_qe"
    dist = DIST


class TestAlphaQeOfQueries(RerankerConformance):
    name = "alpha_qe"
    dist = DIST
    parameters = {"expand": "query"}


class TestDba(RerankerConformance):
    name = "dba"
    dist = DIST


class TestKnnSmoothing(RerankerConformance):
    name = "knn_smoothing"
    dist = DIST
    parameters = {"iterations": 2}


class TestLrSchedule(HookConformance):
    name = "lr_schedule"
    dist = DIST


class TestCheckpoint(HookConformance):
    name = "checkpoint"
    dist = DIST


class TestEvaluation(HookConformance):
    name = "evaluation"
    dist = DIST


class TestMetricLog(HookConformance):
    name = "metric_log"
    dist = DIST


class TestConsole(HookConformance):
    name = "console"
    dist = DIST


class TestReport(HookConformance):
    name = "report"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
