"""Tiny copies of CUHK03, in its two layouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_plugin_datasets.testing.images import write_image

#: Images of each person, (first view, second view), by pair of cameras.
PEOPLE: dict[int, list[tuple[int, int]]] = {1: [(2, 2), (1, 2), (2, 1)], 2: [(5, 5), (2, 0)]}
#: Who is tested in split 0 and in all later ones: pair of cameras and person, from 1.
TESTED = ([(1, 2), (2, 1)], [(1, 1), (1, 3)])


def write_cuhk03(root: Path) -> Path:
    """Write ``cuhk-03.mat`` and the files of the new protocol, which tests as split 0 does."""
    release = root / "cuhk03" / "cuhk03_release" / "cuhk-03.mat"
    release.parent.mkdir(parents=True)
    _write_release(release)
    for images in ("labeled", "detected"):
        _write_config(root / "cuhk03" / f"cuhk03_new_protocol_config_{images}.mat")
    return root


def write_cuhk03_np(root: Path) -> Path:
    """Write the folders of CUHK03-NP."""
    names = {
        "bounding_box_train": ["0001_c1_1.png", "0001_c2_6.png", "0004_c1_2.png"],
        "query": ["0002_c1_1.png", "0003_c2_7.png"],
        "bounding_box_test": ["0002_c2_6.png", "0003_c1_2.png"],
    }
    for images in ("labeled", "detected"):
        for inside, files in names.items():
            for name in files:
                write_image(root / "cuhk03-np" / images / inside / name)
    return root


def names_of(pair: int, person: int) -> list[str]:
    """Return the names of a person's images once they are extracted."""
    first, second = PEOPLE[pair][person - 1]
    cells = [*range(1, first + 1), *range(6, second + 6)]
    return [f"{pair}_{person:03d}_{1 if n <= 5 else 2}_{n:02d}.png" for n in cells]


def _write_release(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        cells = file.create_group("#refs#")

        def keep(values: object) -> object:
            cells[f"c{len(cells)}"] = values
            return cells[f"c{len(cells) - 1}"].ref

        empty = keep(np.zeros(2, dtype=np.uint64))
        for offset, images in enumerate(("labeled", "detected")):
            pairs = []
            for pair, people in PEOPLE.items():
                table = np.full((10, len(people)), empty, dtype=h5py.ref_dtype)
                for person, counts in enumerate(people, 1):
                    for view, count in enumerate(counts):
                        for number in range(count):
                            # MATLAB's axes come in reverse: colour, width, height.
                            pixels = np.zeros((3, 4, 8), dtype=np.uint8)
                            pixels[0] = 100 * pair + person + offset
                            pixels[1, :, 0] = 10 * view + number
                            table[5 * view + number, person - 1] = keep(pixels)
                pairs.append(keep(table))
            file[images] = np.array([pairs], dtype=h5py.ref_dtype)
        tests = [keep(np.array(TESTED[min(split, 1)], dtype=np.float64).T) for split in range(20)]
        file["testsets"] = np.array([tests], dtype=h5py.ref_dtype)


def _write_config(path: Path) -> None:
    from scipy.io import savemat

    people = [(pair, person) for pair in PEOPLE for person in range(1, len(PEOPLE[pair]) + 1)]
    files = [name for one in people for name in names_of(*one)]
    tested = [name for one in TESTED[0] for name in names_of(*one)]
    queries = [names_of(*one)[0] for one in TESTED[0]]
    cells = np.empty((len(files), 1), dtype=object)
    cells[:, 0] = files
    rows = {name: row for row, name in enumerate(files, 1)}
    savemat(
        path,
        {
            "filelist": cells,
            "labels": np.array([[float(people.index(_person(name)) + 1)] for name in files]),
            "train_idx": np.array([[rows[name]] for name in files if name not in tested]),
            "query_idx": np.array([[rows[name]] for name in queries]),
            "gallery_idx": np.array([[rows[name]] for name in tested if name not in queries]),
        },
    )


def _person(name: str) -> tuple[int, int]:
    pair, person, _, _ = name.split("_")
    return int(pair), int(person)
