"""Pictures -> vectors: decoded on all cores while the backbone runs; used for extraction and for live pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.arrays import Floats, StoredValues
from lingvis.data.picture_input import PictureInput, describe_picture
from lingvis.data.rows import Box
from lingvis.data.video.formats import ALL_SUFFIXES
from lingvis.data.video.sampling import BY_SCENE, Sampling
from lingvis.errors import UserError
from lingvis.features.backbones.contract import Backbone, BackboneInput
from lingvis.features.decoding.content import DecodeRequest, PictureContent, ViewRequest
from lingvis.features.decoding.files import Decoders, Here
from lingvis.features.decoding.video import VideoRequest, decode_video_file
from lingvis.features.kinds import POOLED, check_kind
from lingvis.features.pictures import BrokenPicture, DecodedPicture
from lingvis.features.prefetch import prefetch_groups
from lingvis.features.preprocessing import Preprocessing
from lingvis.features.regions import coverage
from lingvis.hardware import core_count, kept_memory

VIDEO_VIEWS = 8  # views of a batch per video that is decoded ahead
GROUP = 16  # pictures that are decoded together; fewer if a batch would not occupy all threads
HALF_MAX = float(torch.finfo(torch.float16).max)


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture, usually a file, and its regions, boxes in pixels of the upright picture."""

    path: PictureInput
    boxes: Sequence[Box] = ()


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The vectors of one picture: values float16 [vectors, dim]; boxes float32 [vectors, 4], for regions only.

    Of kind `pixels`: values uint8 [1, size * size * 3]. Of kind `frames`: seconds float32 [vectors, 1].
    """

    values: StoredValues
    boxes: Floats | None = None
    seconds: Floats | None = None


class PictureEncoder:
    """Turns pictures into vectors of one kind; regions: crop each box from the picture, or pool the cells it covers.

    Kind `pixels` only decodes: the network that reads the pixels is part of a model, and `backbone` may be a mere input.
    Kind `frames` makes one vector per frame of a video, and one of a picture; sampling: which frames.
    """

    def __init__(
        self,
        backbone: Backbone | BackboneInput,
        *,
        kind: str = "grid",
        regions: str = POOLED,
        sampling: Sampling = BY_SCENE,
    ) -> None:
        self.backbone, self.sampling = backbone, sampling
        self.kind, self.regions = check_kind(kind, regions)
        self.uses_cells = kind == "grid" or self.regions == "pooled"
        if isinstance(backbone, BackboneInput) or kind == "pixels":
            self.dim = 3 * backbone.preprocessing.size**2
        else:
            self.dim = backbone.dim if self.uses_cells else backbone.pooled_dim

    @property
    def preprocessing(self) -> Preprocessing:
        """The preprocessing of the backbone; pooled regions need the whole picture on the grid."""
        if self.regions == "pooled":
            return dataclasses.replace(self.backbone.preprocessing, fit="squash", keep=1.0)
        return self.backbone.preprocessing

    def batches(
        self,
        files: Sequence[PictureFile],
        *,
        batch_size: int,
        threads: int | None = None,
        decoders: Decoders | None = None,
    ) -> Iterator[list[FeatureSet | BrokenPicture]]:
        """The vectors of the pictures in order, `batch_size` at a time; the error for a picture that cannot be read.

        decoders: in this process by default; a `DecoderPool` for files of strangers. A batch of videos is smaller, since
        each has many frames.
        """
        with kept_memory():
            for results in self.decoded(files, batch_size=batch_size, threads=threads, decoders=decoders):
                readable = [result for result in results if isinstance(result, DecodedPicture)]
                encoded = iter(self.encode(readable, batch_size) if readable else [])
                yield [next(encoded) if isinstance(result, DecodedPicture) else result for result in results]

    def decoded(
        self,
        files: Sequence[PictureFile],
        *,
        batch_size: int,
        threads: int | None = None,
        decoders: Decoders | None = None,
    ) -> Iterator[list[DecodedPicture | BrokenPicture]]:
        """The views of the pictures in order, before they are encoded, as `batches` decodes them."""
        with_videos = self.kind == "frames"
        threads = threads or core_count()
        return prefetch_groups(
            partial(self._decode, decoders or Here()),
            files,
            batch_size=max(1, batch_size // VIDEO_VIEWS) if with_videos else batch_size,
            threads=threads,
            group=1 if with_videos else min(GROUP, max(1, batch_size // threads)),
        )

    def _decode(
        self, decoders: Decoders, files: Sequence[PictureFile]
    ) -> list[DecodedPicture | BrokenPicture]:
        pictures = [(file.path, self._request(file)) for file in files if not _is_video(file)]
        contents = iter(decoders.decode_files(pictures))
        return [
            self._decode_video(decoders, file) if _is_video(file) else _views(next(contents))
            for file in files
        ]

    def _decode_video(self, decoders: Decoders, file: PictureFile) -> DecodedPicture | BrokenPicture:
        assert isinstance(file.path, Path)
        if self.kind != "frames":
            return BrokenPicture(f"it is a video, which has no features of kind {self.kind}; use kind frames")
        request = VideoRequest(self._request(file), self.sampling)
        try:
            return decode_video_file(file.path, request, decoders.decode_video)
        except BrokenPicture as broken:
            return broken

    def _request(self, file: PictureFile) -> DecodeRequest:
        boxes = file.boxes if self.kind == "region" else ()
        return DecodeRequest(views=ViewRequest(self.preprocessing, boxes, crops=self.regions == "crop"))

    @torch.inference_mode()
    def encode(self, pictures: Sequence[DecodedPicture], batch_size: int) -> list[FeatureSet]:
        """At least one decoded picture -> the vectors of each; the backbone processes `batch_size` views at a time."""
        if isinstance(self.backbone, BackboneInput) or self.kind == "pixels":
            return [FeatureSet(picture.pixels.reshape(1, -1)) for picture in pictures]
        pixels = _joined([picture.pixels for picture in pictures], self.backbone.device)
        # A picture may have many crops; the backbone still processes `batch_size` views at a time.
        chunks = [pixels[start : start + batch_size] for start in range(0, len(pixels), batch_size)]
        network = self.backbone.cells if self.uses_cells else self.backbone.pooled
        outputs = torch.cat(
            [run(network, chunk, self.preprocessing, self.backbone.device) for chunk in chunks]
        )
        if self.kind == "global":
            return [FeatureSet(values) for values in _half(outputs[:, None])]
        if self.kind == "frames":
            return _by_picture(outputs, pictures)
        if self.kind == "grid":
            return [FeatureSet(values) for values in _half(outputs.flatten(2).transpose(1, 2))]
        if self.regions == "pooled":
            sets = [_pool(cells, picture) for cells, picture in zip(outputs, pictures, strict=True)]
            outputs = torch.cat(sets)
        ends = np.cumsum([0, *(len(picture.boxes) for picture in pictures)])
        rows = _half(outputs)
        return [
            FeatureSet(rows[start:end], picture.boxes)
            for (start, end), picture in zip(pairwise(ends), pictures, strict=True)
        ]


def _is_video(file: PictureFile) -> bool:
    return isinstance(file.path, Path) and file.path.suffix.lower() in ALL_SUFFIXES


def _views(content: PictureContent | BrokenPicture) -> DecodedPicture | BrokenPicture:
    if isinstance(content, BrokenPicture):
        return content
    assert content.views is not None  # requested
    return content.views


def _by_picture(outputs: Tensor, pictures: Sequence[DecodedPicture]) -> list[FeatureSet]:
    """Vectors of all frames [frames, dim] -> those of each video; a picture is a frame at second 0."""
    ends = np.cumsum([0, *(len(picture.pixels) for picture in pictures)])
    rows = _half(outputs)
    sets = []
    for (start, end), picture in zip(pairwise(ends), pictures, strict=True):
        seconds = picture.seconds if picture.seconds is not None else np.zeros(end - start, np.float32)
        sets.append(FeatureSet(rows[start:end], seconds=seconds[:, None]))
    return sets


def encode_pictures(
    pictures: Sequence[PictureInput],
    backbone: Backbone | BackboneInput,
    kind: str = "grid",
    *,
    regions: str = POOLED,
    boxes: Sequence[Sequence[Box]] | None = None,
    batch_size: int = 32,
) -> Iterator[StoredValues]:
    """The vectors of each picture in turn, [vectors, dim], exactly as extraction stores them.

    boxes: the regions of each picture; without boxes, the whole picture is one region.
    """
    boxes_of: Sequence[Sequence[Box]] = boxes if boxes is not None else [()] * len(pictures)
    _check_boxes(boxes_of, len(pictures))
    files = [PictureFile(picture, regions_of) for picture, regions_of in zip(pictures, boxes_of, strict=True)]
    encoder = PictureEncoder(backbone, kind=kind, regions=regions)
    done = 0
    for batch in encoder.batches(files, batch_size=batch_size):
        for result in batch:
            if isinstance(result, BrokenPicture):
                name = describe_picture(pictures[done])
                raise UserError(f"picture {name} cannot be used: {result}; fix it or leave it out")
            done += 1
            yield result.values


def _check_boxes(boxes_of: Sequence[Sequence[Box]], pictures: int) -> None:
    """Raise unless there is one list of boxes per picture, and every box has four values."""
    if len(boxes_of) != pictures:
        raise UserError(
            f"boxes has {len(boxes_of)} lists for {pictures} pictures; give one list of boxes per picture, or an empty "
            "list for the whole picture"
        )
    for place, boxes in enumerate(boxes_of):
        for box in boxes:
            if np.shape(box) != (4,):
                raise UserError(
                    f"boxes[{place}] has the box {box!r}; a box has four values: x0, y0, x1, y1 in pixels"
                )


@torch.inference_mode()
def run(
    network: Callable[[Tensor], Tensor],
    pixels: Tensor,
    preprocessing: Preprocessing,
    device: torch.device,
) -> Tensor:
    """uint8 [batch, size, size, 3] -> the network's output in float32 on the device."""
    std = torch.tensor(preprocessing.std, device=device)
    shift = torch.tensor(preprocessing.mean, device=device) / std
    inputs = pixels.to(device, non_blocking=True).float()
    # Scaling whole rows of pixels is several times faster than scaling three values at a time.
    inputs.flatten(2).mul_((1 / (255 * std)).repeat(inputs.shape[2])).sub_(shift.repeat(inputs.shape[2]))
    # Rows of RGB triples are already in channels-last layout, the faster one for convolutions.
    inputs = inputs.permute(0, 3, 1, 2)
    with torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
        outputs = network(inputs)
    if device.type == "cuda" and not torch.isfinite(outputs).all():
        outputs = network(inputs)  # some transformers exceed the range of half precision
    return outputs.float()


def _joined(pixels: Sequence[NDArray[np.uint8]], device: torch.device) -> Tensor:
    """Join arrays [views, size, size, 3]; in page-locked memory for a GPU, which copies it without waiting."""
    shape = (sum(map(len, pixels)), *pixels[0].shape[1:])
    joined = torch.empty(shape, dtype=torch.uint8, pin_memory=device.type == "cuda")
    np.concatenate(pixels, out=joined.numpy())
    return joined


def _pool(cells: Tensor, picture: DecodedPicture) -> Tensor:
    """Cells [dim, rows, columns] -> the mean under each box of the picture, [boxes, dim]."""
    weights = coverage(picture.fractions, cells.shape[1], cells.shape[2])
    return torch.from_numpy(weights).to(cells) @ cells.flatten(1).T


def _half(values: Tensor) -> NDArray[np.float16]:
    array: NDArray[np.float16] = values.clamp_(-HALF_MAX, HALF_MAX).half().contiguous().cpu().numpy()
    return array
