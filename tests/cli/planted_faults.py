"""Faults to plant in a copy of a set in Market-1501's layout, each with what it is told as."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

TRAIN, QUERY, GALLERY = "bounding_box_train", "query", "bounding_box_test"


@dataclass(frozen=True)
class Fault:
    """A fault that was planted.

    Args:
        code: Code of the finding that tells it.
        example: What one of its examples begins with; empty where there is none.
    """

    code: str
    example: str = ""


def images(root: Path, folder: str, identity: int | None = None) -> list[str]:
    """Return the images of a folder, of one identity perhaps, as sorted paths below the root."""
    start = "" if identity is None else f"{identity:04d}_"
    return sorted(f"{folder}/{p.name}" for p in (root / folder).glob(f"{start}*.png"))


def identities(root: Path, folder: str) -> list[int]:
    return sorted({int(Path(path).name[:4]) for path in images(root, folder)})


class Planter:
    """Plants faults in a copy; each takes an identity that no other fault has touched.

    Args:
        root: The copy.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._train = identities(root, TRAIN)[1:-1]
        self._test = identities(root, QUERY)[1:-1]

    def train_identity(self) -> int:
        return self._train.pop(0)

    def test_identity(self) -> int:
        return self._test.pop(0)

    def train_image(self) -> str:
        return images(self.root, TRAIN, self.train_identity())[3]

    def pixels(self, path: str) -> Image.Image:
        return Image.open(self.root / path).convert("L")

    # Files that cannot be read.

    def empty(self) -> Fault:
        path = self.train_image()
        (self.root / path).write_bytes(b"")
        return Fault("broken-images", path)

    def cut(self) -> Fault:
        path = self.train_image()
        data = (self.root / path).read_bytes()
        (self.root / path).write_bytes(data[: len(data) // 2])
        return Fault("broken-images", path)

    def text(self) -> Fault:
        path = self.train_image()
        (self.root / path).write_text("404 not found", encoding="utf-8")
        return Fault("broken-images", path)

    def cut_jpeg(self) -> Fault:
        path = self.train_image()
        jpeg = self.root / path.replace(".png", ".jpg")
        self.pixels(path).resize((64, 64)).save(jpeg)
        data = jpeg.read_bytes()
        jpeg.write_bytes(data[: len(data) * 6 // 10])
        (self.root / path).unlink()
        return Fault("broken-images", path.replace(".png", ".jpg"))

    def dead_link(self) -> Fault:
        path = self.train_image()
        (self.root / path).unlink()
        (self.root / path).symlink_to("nowhere.png")
        return Fault("missing-files", path)

    # Files of another kind.

    def wrong_suffix(self) -> Fault:
        path = self.train_image()
        other = path.replace(".png", ".jpg")
        (self.root / path).rename(self.root / other)
        return Fault("wrong-suffix", other)

    def alpha(self) -> Fault:
        path = self.train_image()
        image = self.pixels(path)
        image.putalpha(Image.new("L", image.size, 128))
        image.save(self.root / path)
        return Fault("alpha-images", path)

    def sixteen_bit(self) -> Fault:
        path = self.train_image()
        wide = np.asarray(self.pixels(path)).astype(np.uint16) * 257
        Image.fromarray(wide).save(self.root / path)
        return Fault("16-bit-images", path)

    def one_bit(self) -> Fault:
        path = self.train_image()
        self.pixels(path).convert("1").save(self.root / path)
        return Fault("1-bit-images", path)

    def palette(self) -> Fault:
        path = self.train_image()
        self.pixels(path).convert("P", palette=Image.Palette.ADAPTIVE).save(self.root / path)
        return Fault("palette-images", path)

    def cmyk(self) -> Fault:
        path = self.train_image()
        other = path.replace(".png", ".jpg")
        self.pixels(path).convert("CMYK").save(self.root / other)
        (self.root / path).unlink()
        return Fault("cmyk-images", other)

    def turned(self) -> Fault:
        path = self.train_image()
        other = path.replace(".png", ".jpg")
        exif = Image.Exif()
        exif[0x0112] = 6
        self.pixels(path).save(self.root / other, exif=exif)
        (self.root / path).unlink()
        return Fault("turned-images", other)

    def animated(self) -> Fault:
        path = self.train_image()
        other = path.replace(".png", ".webp")
        frames = [self.pixels(path), self.pixels(path).rotate(90)]
        frames[0].save(self.root / other, save_all=True, append_images=frames[1:])
        (self.root / path).unlink()
        return Fault("animated-images", other)

    def colour(self) -> Fault:
        path = self.train_image()
        pixels = np.asarray(self.pixels(path).convert("RGB")).copy()
        pixels[..., 0] //= 2
        Image.fromarray(pixels).save(self.root / path)
        return Fault("colour-images", path)

    def blank(self) -> Fault:
        path = self.train_image()
        Image.new("L", (64, 64), 255).save(self.root / path)
        return Fault("blank-images", path)

    def black(self) -> Fault:
        path = self.train_image()
        Image.new("L", (64, 64), 0).save(self.root / path)
        return Fault("blank-images", path)

    def negative(self) -> Fault:
        path = self.train_image()
        self.pixels(path).point(lambda value: 255 - value).save(self.root / path)
        return Fault("brightness-outliers", path)

    # Sizes.

    def tiny(self) -> Fault:
        path = self.train_image()
        self.pixels(path).resize((4, 4)).save(self.root / path)
        return Fault("tiny-images", path)

    def small(self) -> Fault:
        path = self.train_image()
        self.pixels(path).resize((16, 16)).save(self.root / path)
        return Fault("size-outliers", path)

    def large(self) -> Fault:
        path = self.train_image()
        self.pixels(path).resize((1024, 1024)).save(self.root / path)
        return Fault("size-outliers", path)

    def huge(self) -> Fault:
        path = self.train_image()
        self.pixels(path).resize((5000, 4000)).save(self.root / path)
        return Fault("huge-images", path)

    def long(self) -> Fault:
        path = self.train_image()
        self.pixels(path).resize((160, 32)).save(self.root / path)
        return Fault("aspect-outliers", path)

    # Copies.

    def copied_to_gallery(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900001_00.png"
        shutil.copy(self.root / path, self.root / copy)
        return Fault("duplicates-train-and-test", f"{path} (train")

    def saved_anew_in_gallery(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900002_00.png"
        self.pixels(path).convert("RGB").save(self.root / copy, compress_level=1)
        return Fault("duplicates-train-and-test", f"{path} (train")

    def copied_to_other_identity(self) -> Fault:
        path = self.train_image()
        copy = f"{TRAIN}/{self.train_identity():04d}_c2s1_900003_00.png"
        shutil.copy(self.root / path, self.root / copy)
        return Fault("duplicates-other-identity", f"{path} (train")

    def copied(self) -> Fault:
        path = self.train_image()
        copy = path.replace("_00.png", "_01.png")
        shutil.copy(self.root / path, self.root / copy)
        return Fault("duplicates-same-identity", f"{path} (train")

    def query_in_gallery(self) -> Fault:
        path = images(self.root, QUERY, self.test_identity())[2]
        shutil.copy(self.root / path, self.root / GALLERY / Path(path).name)
        return Fault("duplicates-query-and-gallery", f"{path} (query")

    def compressed_to_gallery(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900004_00.jpg"
        self.pixels(path).save(self.root / copy, quality=50)
        return Fault("near-duplicates-train-and-test", f"{path} (train")

    def resized_to_gallery(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900005_00.png"
        self.pixels(path).resize((40, 40)).save(self.root / copy)
        return Fault("near-duplicates-train-and-test", f"{path} (train")

    def mirrored_to_gallery(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900006_00.png"
        turned = self.pixels(path).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        turned.resize((80, 80)).save(self.root / copy)
        return Fault("near-duplicates-train-and-test", f"{path} (train")

    def cut_at_the_edges(self) -> Fault:
        path = self.train_image()
        copy = f"{GALLERY}/{self.test_identity():04d}_c2s1_900007_00.png"
        self.pixels(path).crop((2, 2, 62, 62)).save(self.root / copy)
        return Fault("near-duplicates-train-and-test", f"{path} (train")

    def half_the_size_under_another_identity(self) -> Fault:
        path = self.train_image()
        copy = f"{TRAIN}/{self.train_identity():04d}_c2s1_900008_00.png"
        self.pixels(path).resize((33, 33)).save(self.root / copy)
        return Fault("near-duplicates-other-identity", f"{path} (train")

    def blurred_query(self) -> Fault:
        path = images(self.root, QUERY, self.test_identity())[1]
        copy = self.root / GALLERY / Path(path).name.replace("s1_", "s2_")
        self.pixels(path).filter(ImageFilter.GaussianBlur(0.7)).save(copy)
        return Fault("near-duplicates-query-and-gallery", f"{path} (query")

    # Labels.

    def trained_and_tested(self) -> Fault:
        identity = self.train_identity()
        path = images(self.root, TRAIN, identity)[0]
        (self.root / path).rename(self.root / GALLERY / Path(path).name)
        return Fault("identity-in-train-and-test", f"{identity} ({GALLERY}")

    def not_in_gallery(self) -> Fault:
        identity = self.test_identity()
        for path in images(self.root, GALLERY, identity):
            (self.root / path).unlink()
        return Fault("query-identity-absent", images(self.root, QUERY, identity)[0])

    def own_camera_only(self) -> Fault:
        identity = self.test_identity()
        for path in images(self.root, GALLERY, identity):
            if "_c1" not in path:
                (self.root / path).unlink()
        for path in images(self.root, QUERY, identity)[1:]:
            (self.root / path).unlink()
        return Fault("query-own-camera-only", images(self.root, QUERY, identity)[0])

    def one_image(self) -> Fault:
        identity = self.train_identity()
        for path in images(self.root, TRAIN, identity)[1:]:
            (self.root / path).unlink()
        return Fault("single-image-identities", str(identity))

    def one_camera(self) -> Fault:
        identity = self.train_identity()
        for path in images(self.root, TRAIN, identity):
            if "_c1" not in path:
                (self.root / path).unlink()
        return Fault("single-camera-identities", str(identity))

    def scarce_camera(self) -> Fault:
        path = self.train_image()
        other = path.replace("_c1", "_c9")
        (self.root / path).rename(self.root / other)
        return Fault("scarce-cameras", "camera 9 (1 image in training")

    def gap(self) -> Fault:
        identity = self.train_identity()
        for path in images(self.root, TRAIN, identity):
            (self.root / path).unlink()
        return Fault("identity-gaps", str(identity))

    # Names.

    def misnamed(self) -> Fault:
        path = self.train_image()
        (self.root / path).rename(self.root / TRAIN / "IMG_2041.png")
        return Fault("images-not-read", f"{TRAIN}/IMG_2041.png")

    def other_suffix(self) -> Fault:
        path = self.train_image()
        other = path.replace(".png", ".tif")
        self.pixels(path).save(self.root / other)
        (self.root / path).unlink()
        return Fault("images-not-read", other)

    def in_a_subfolder(self) -> Fault:
        path = self.train_image()
        (self.root / TRAIN / "more").mkdir()
        (self.root / path).rename(self.root / TRAIN / "more" / Path(path).name)
        return Fault("images-not-read", f"{TRAIN}/more/")

    def stray(self) -> Fault:
        (self.root / QUERY / "notes.txt").write_text("to do", encoding="utf-8")
        return Fault("stray-files", f"{QUERY}/notes.txt")

    def folder_like_an_image(self) -> Fault:
        (self.root / GALLERY / "x.jpg").mkdir()
        return Fault("stray-files", f"{GALLERY}/x.jpg")

    def system_file(self) -> Fault:
        (self.root / GALLERY / "Thumbs.db").write_bytes(b"x")
        return Fault("system-files", f"{GALLERY}/Thumbs.db")

    def junk(self) -> Fault:
        path = self.train_image()
        other = f"{TRAIN}/-1{Path(path).name[4:]}"
        (self.root / path).rename(self.root / other)
        return Fault("junk-not-read", other)

    def distractor(self) -> Fault:
        path = images(self.root, QUERY, self.test_identity())[0]
        other = f"{QUERY}/0000{Path(path).name[4:]}"
        (self.root / path).rename(self.root / other)
        return Fault("junk-not-read", other)

    def written_otherwise(self) -> Fault:
        path = self.train_image()
        name = Path(path).name
        other = f"{TRAIN}/{name.lstrip('0')}"
        (self.root / path).rename(self.root / other)
        return Fault("identity-spelled-twice", images(self.root, TRAIN, int(name[:4]))[0])

    def faint(self) -> Fault:
        path = self.train_image()
        self.pixels(path).point(lambda value: 225 + value // 12).save(self.root / path)
        return Fault("faint-images", path)

    def heavy(self) -> Fault:
        identity = self.train_identity()
        rng = np.random.default_rng(identity)
        first = self.pixels(images(self.root, TRAIN, identity)[0])
        for number in range(200):
            shifted = np.roll(np.asarray(first), rng.integers(-9, 9, 2), (0, 1)).copy()
            # Each has lines of its own, so that no two are copies.
            shifted[rng.integers(0, 64, 6)] = 0
            name = f"{identity:04d}_c1s9_{number:06d}_00.png"
            Image.fromarray(shifted).save(self.root / TRAIN / name)
        return Fault("identity-imbalance", f"{identity} (220 images)")

    def not_asked_for(self) -> Fault:
        identity = self.test_identity()
        for path in images(self.root, QUERY, identity):
            (self.root / path).unlink()
        return Fault("gallery-only-identities", str(identity))

    def empty_folder(self) -> Fault:
        (self.root / TRAIN / "0099").mkdir()
        return Fault("empty-folders", f"{TRAIN}/0099")


_HELPERS = ("train_identity", "test_identity", "train_image", "pixels")

FAULTS: dict[str, Callable[[Planter], Fault]] = {
    name: method
    for name, method in vars(Planter).items()
    if not name.startswith("_") and name not in _HELPERS
}
