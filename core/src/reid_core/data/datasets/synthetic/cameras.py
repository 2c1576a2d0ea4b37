"""What a camera does to the colours and the sharpness of what it sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.canvas import Ints
from reid_core.data.datasets.synthetic.difficulty import Profile
from reid_core.data.datasets.synthetic.streams import Purpose, Stream

#: Weights of red, green and blue in the brightness, in 1/256 (ITU-R BT.601, rounded).
LUMA = np.array((77, 150, 29), dtype=np.int32)


@dataclass(frozen=True)
class Lens:
    """The look of one camera.

    Args:
        gains: Gain of red, green and blue, in 1/256.
        curve: Bend of the tone curve, -255 (darker) to 255 (brighter); 0 is straight.
        saturation: How far colours are from grey, in 1/256.
        lift: What is added to black.
        blur: How often a 3x3 blur is applied.
    """

    gains: tuple[int, int, int]
    curve: int
    saturation: int
    lift: int
    blur: int


LENSES: tuple[Lens, ...] = (
    Lens(gains=(256, 256, 256), curve=0, saturation=256, lift=0, blur=0),
    Lens(gains=(330, 236, 140), curve=-110, saturation=220, lift=0, blur=1),
    Lens(gains=(150, 225, 340), curve=-60, saturation=210, lift=6, blur=0),
    Lens(gains=(190, 310, 200), curve=90, saturation=170, lift=10, blur=1),
    Lens(gains=(310, 190, 290), curve=30, saturation=200, lift=0, blur=1),
    Lens(gains=(165, 165, 190), curve=-170, saturation=230, lift=0, blur=0),
    Lens(gains=(222, 232, 218), curve=130, saturation=120, lift=36, blur=1),
    Lens(gains=(290, 250, 190), curve=120, saturation=90, lift=16, blur=2),
)


def lens_of(seed: int, camera: int, profile: Profile) -> Lens:
    """Return the lens of camera ``camera`` (from 0), softened as ``profile`` asks for."""
    order = Stream(seed, Purpose.LENSES).shuffled(range(len(LENSES)))
    lens = LENSES[order[camera]]

    def soft(value: int, neutral: int) -> int:
        return neutral + (value - neutral) * profile.cast // 100

    red, green, blue = (max(64, soft(gain, 256)) for gain in lens.gains)
    return Lens(
        gains=(red, green, blue),
        curve=max(-255, min(255, soft(lens.curve, 0))),
        saturation=max(40, soft(lens.saturation, 256)),
        lift=soft(lens.lift, 0),
        blur=lens.blur,
    )


def expose(scene: Ints, lens: Lens, light: int, noise: int, stream: Stream) -> NDArray[np.uint8]:
    """Return what the camera records.

    Args:
        scene: (H, W, 3) int32 in 0..255.
        lens: The camera's look.
        light: Brightness of the moment in 1/256.
        noise: Largest change of a pixel by noise.
        stream: Where the noise comes from.

    Returns:
        (H, W, 3) uint8.
    """
    grey = ((scene * LUMA).sum(axis=2, dtype=np.int32) >> 8)[..., None]
    seen = np.clip(grey + (((scene - grey) * lens.saturation) >> 8), 0, 255)
    for _ in range(lens.blur):
        seen = blurred(seen)
    for channel, table in enumerate(tone_tables(lens, light)):
        seen[..., channel] = table[seen[..., channel]]
    if noise:
        grain = stream.octets(*seen.shape[:2], 1)
        # Two nibbles added give a bell, as grains of a sensor do.
        bell = (grain & 15) + (grain >> 4) - 15
        seen = seen + (bell * noise) // 15
    # The last three bits are dropped: nobody sees them, and the files are a third of the size.
    coarse: NDArray[np.uint8] = ((np.clip(seen, 0, 255) & 0xF8) + 4).astype(np.uint8)
    return coarse


def tone_tables(lens: Lens, light: int) -> list[Ints]:
    """Return for red, green and blue the value recorded for each of 0..255."""
    value = np.arange(256, dtype=np.int32)
    bent = value + (lens.curve * value * (255 - value)) // (255 * 256)
    return [
        np.clip(((bent * gain // 256) * light) // 256 + lens.lift, 0, 255).astype(np.int32)
        for gain in lens.gains
    ]


def blurred(image: Ints) -> Ints:
    """Return ``image`` after a 1-2-1 blur down and across; the border is repeated."""
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    down = padded[:-2] + 2 * padded[1:-1] + padded[2:]
    blurry: Ints = (down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:] + 8) >> 4
    return blurry
