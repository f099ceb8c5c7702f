"""Join several detections of a dataset into one, with label names that people use."""

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

RARE = 50_000  # a word is in use if it occurs at least once in this number of words


def join(
    dataset: Dataset | Path | str,
    detections: Sequence[str],
    *,
    name: str,
    wordnet: Path | str | None = None,
    most: int = 36,
    force: bool = False,
) -> DetectionsManifest:
    """Join stored detections into detections/<name>/.

    The first detections keep all their regions; the others add missing labels, each label once, at its best
    region. wordnet: the folder of WordNet's files; labels that are not in use also get a more general name
    (`with_general_name`). most: number of best regions to keep per picture.
    force: replace detections that were made with other options; an earlier join of the same detections is always replaced.
    """
    dataset = Dataset.open(dataset)
    if not detections:
        raise UserError("no detections to join; name folders of detections/, such as regions global")
    for folder in (*detections, name):
        check_name(folder)
    if name in detections:
        raise UserError(f"name is {name}, one of the detections to join; choose another name for the result")
    detector = _JoinedDetector(dataset, detections, Path(wordnet) if wordnet is not None else None)
    target = dataset.detections_dir / name
    if target.is_dir():
        old = read_manifest(target).origin
        force = force or (old.detector, old.most) == (detector.name, most)
    return detect(dataset, detector, score=0.0, most=most, name=name, force=force)


class _JoinedDetector:
    """A detector that returns the joined regions of stored detections."""

    side = 0

    def __init__(self, dataset: Dataset, detections: Sequence[str], wordnet: Path | None) -> None:
        images = [row.image for row in dataset.rows]
        folders = [dataset.detections_dir / name for name in detections]
        self.parts = [read_detections(folder, images) for folder in folders]
        self.name = f"{JOINED_WITH_WORDNET if wordnet else JOINED}:{'/'.join(detections)}"
        self.made_of = tuple(checksum(folder / FILE) for folder in folders)
        self.general_name: Callable[[str], str] = str
        if wordnet is not None:
            hypernyms, used = Hypernyms(wordnet), words_in_use(dataset)
            labels = {
                region.label
                for part in self.parts
                for regions in part.values()
                for region in regions
                if region.label
            }
            self.general_name = {label: hypernyms.everyday(label, used) for label in labels}.__getitem__
            in_use = hashlib.sha256(repr(sorted(used.items())).encode()).hexdigest()
            self.made_of += (hypernyms.checksum, in_use)

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The joined regions of each picture."""
        return [
            [
                with_general_name(region, self.general_name)
                for region in join_regions([part[picture.name] for part in self.parts])
            ]
            for picture in pictures
        ]


def words_in_use(dataset: Dataset) -> dict[str, int]:
    """Word -> count in the English sentences without pictures, or else in the training captions; rare words are omitted."""
    sentences = [text for row in dataset.text_only() for text in row.captions.get(LABEL_LANGUAGE, ())] or [
        text for row in dataset.rows if row.split == "train" for text in row.captions.get(LABEL_LANGUAGE, ())
    ]
    if not sentences:
        raise UserError(
            f"{dataset.path} has no English sentences to count words in; add some to text-only.jsonl, "
            "or leave out wordnet"
        )
    counts = Counter(word for text in sentences for word in words(text, LABEL_LANGUAGE))
    return {word: count for word, count in counts.items() if count * RARE >= counts.total()}


def join_regions(parts: Sequence[Sequence[Region]]) -> list[Region]:
    """All regions of the first part, and regions of the others with a new label, each label once; case is ignored."""
    result: list[Region] = []
    for number, regions in enumerate(parts):
        labels = {_lower_label(region) for region in result}
        for region in best(regions, score=0.0, most=len(regions)):
            if number == 0 or _lower_label(region) not in labels:
                result.append(region)
                labels.add(_lower_label(region))
    return result


def _lower_label(region: Region) -> str:
    return (region.label or "").lower()


def with_general_name(region: Region, general_name: Callable[[str], str]) -> Region:
    """`Saluki` -> `Saluki dog`: the general name becomes the label, and the special one its attribute.

    A label that contains its general name, such as `sports ball`, stays unchanged.
    """
    if not region.label:
        return region
    general = general_name(region.label)
    if set(words(general, LABEL_LANGUAGE)) <= set(words(region.label, LABEL_LANGUAGE)):
        return region
    special = f"{region.attribute or ''} {region.label}".strip()
    return region.model_copy(update={"label": general, "attribute": special})
