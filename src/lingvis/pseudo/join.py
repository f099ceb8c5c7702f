"""Several detections of a dataset as one, with words that people use."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.data.detections import (
    FILE,
    JOINED,
    JOINED_WITH_WORDNET,
    DetectionsManifest,
    read_detections,
    read_manifest,
)
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detect import best, check_name, detect
from lingvis.features.detectors.contract import DetectorPicture
from lingvis.files import checksum
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.lexicon.hypernyms import Hypernyms
from lingvis.text.segment import words

RARE = 50_000  # a word that comes less than once in so many is not in use


def join(
    dataset: Dataset,
    detections: Sequence[str],
    *,
    name: str,
    wordnet: Path | None = None,
    most: int = 36,
    force: bool = False,
) -> DetectionsManifest:
    """Put stored detections together as detections/<name>/.

    The first give all their regions; each of the others adds what those before it do not name, once, where it is surest.
    wordnet: the folder of its files; things whose names nobody writes get a more general name as well (`named`).
    most: keep so many regions a picture, the surest. force: replace detections that were made in another way; what was
    joined in the same way of what these detections held before is replaced anyway.
    """
    if not detections:
        raise UserError("no detections to join; name folders of detections/, such as regions global")
    for each in (*detections, name):
        check_name(each)
    if name in detections:
        raise UserError(f"{name} is one of those to be joined; choose another --name for the outcome")
    eye = _Joined(dataset, detections, wordnet)
    target = dataset.detections_dir / name
    if target.is_dir():
        was = read_manifest(target).origin
        force = force or (was.detector, was.most) == (eye.name, most)
    return detect(dataset, eye, score=0.0, most=most, name=name, force=force)


class _Joined:
    """A detector that has seen what others have."""

    side = 0

    def __init__(self, dataset: Dataset, detections: Sequence[str], wordnet: Path | None) -> None:
        images = [row.image for row in dataset.rows]
        folders = [dataset.detections_dir / each for each in detections]
        self.parts = [read_detections(folder, images) for folder in folders]
        self.name = f"{JOINED_WITH_WORDNET if wordnet else JOINED}:{'/'.join(detections)}"
        self.made_of = tuple(checksum(folder / FILE) for folder in folders)
        self.everyday: Callable[[str], str] = str
        if wordnet is not None:
            hypernyms, used = Hypernyms(wordnet), words_in_use(dataset)
            labels = {r.label for part in self.parts for regions in part.values() for r in regions if r.label}
            self.everyday = {label: hypernyms.everyday(label, used) for label in labels}.__getitem__
            in_use = hashlib.sha256(repr(sorted(used.items())).encode()).hexdigest()
            self.made_of += (hypernyms.checksum, in_use)

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The joined regions of each picture."""
        return [
            [named(region, self.everyday) for region in joined([part[picture.name] for part in self.parts])]
            for picture in pictures
        ]


def words_in_use(dataset: Dataset) -> dict[str, int]:
    """The words of English sentences without pictures, or else of the training captions, and how often they come."""
    sentences = [text for row in dataset.text_only() for text in row.captions.get(LABEL_LANGUAGE, ())] or [
        text for row in dataset.rows if row.split == "train" for text in row.captions.get(LABEL_LANGUAGE, ())
    ]
    if not sentences:
        raise UserError(
            f"{dataset.path} has no English sentence that tells which words people use; add some to text-only.jsonl, "
            "or leave out --wordnet"
        )
    counts = Counter(word for text in sentences for word in words(text, LABEL_LANGUAGE))
    return {word: count for word, count in counts.items() if count * RARE >= counts.total()}


def joined(parts: Sequence[Sequence[Region]]) -> list[Region]:
    """All regions of the first, and of the others those with a new label, each label once; case does not matter."""
    found: list[Region] = []
    for number, regions in enumerate(parts):
        labels = {_plain(region) for region in found}
        for region in best(regions, score=0.0, most=len(regions)):
            if number == 0 or _plain(region) not in labels:
                found.append(region)
                labels.add(_plain(region))
    return found


def _plain(region: Region) -> str:
    return (region.label or "").lower()


def named(region: Region, everyday: Callable[[str], str]) -> Region:
    """`Saluki` -> `Saluki dog`: the general name is the label, the special one an attribute of it.

    A name that says the general one itself, as `sports ball` does, stays.
    """
    if not region.label:
        return region
    general = everyday(region.label)
    if set(words(general, LABEL_LANGUAGE)) <= set(words(region.label, LABEL_LANGUAGE)):
        return region
    special = f"{region.attribute or ''} {region.label}".strip()
    return region.model_copy(update={"label": general, "attribute": special})
