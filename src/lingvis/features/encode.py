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
from lingvis.features.decoding.content import Decode, DecodeRequest, ViewRequest, decode_content, decode_file
from lingvis.features.decoding.video import (
    DecodeVideo,
    VideoRequest,
    decode_video_content,
    decode_video_file,
)
from lingvis.features.kinds import POOLED, check_kind
from lingvis.features.pictures import BrokenPicture, DecodedPicture
from lingvis.features.prefetch import prefetch
from lingvis.features.preprocessing import Preprocessing
from lingvis.features.regions import coverage

VIDEO_VIEWS = 8  # views of a batch per video that is decoded ahead
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
        decode: Decode = decode_content,
        decode_video: DecodeVideo = decode_video_content,
    ) -> Iterator[list[FeatureSet | BrokenPicture]]:
        """The vectors of the pictures in order, `batch_size` at a time; the error for a picture that cannot be read.

        decode, decode_video: in this process by default; those of `DecoderPool` for files of strangers. A batch of videos
        is smaller, since each has many frames.
        """
        count = max(1, batch_size // VIDEO_VIEWS) if self.kind == "frames" else batch_size
        read = partial(self._decode, decode, decode_video)
        for batch in prefetch(read, files, batch_size=count, threads=threads):
            results = [result for _, result in batch]
            readable = [result for result in results if isinstance(result, DecodedPicture)]
            encoded = iter(self.encode(readable, batch_size) if readable else [])
            yield [next(encoded) if isinstance(result, DecodedPicture) else result for result in results]

    def _decode(
        self, decode: Decode, decode_video: DecodeVideo, file: PictureFile
    ) -> DecodedPicture | BrokenPicture:
        boxes = file.boxes if self.kind == "region" else ()
        request = DecodeRequest(views=ViewRequest(self.preprocessing, boxes, crops=self.regions == "crop"))
        try:
            if isinstance(file.path, Path) and file.path.suffix.lower() in ALL_SUFFIXES:
                if self.kind != "frames":
                    raise BrokenPicture(
                        f"it is a video, which has no features of kind {self.kind}; use kind frames"
                    )
                return decode_video_file(file.path, VideoRequest(request, self.sampling), decode_video)
            views = decode_file(file.path, request, decode).views
            assert views is not None  # requested
            return views
        except BrokenPicture as broken:
            return broken

    @torch.inference_mode()
    def encode(self, pictures: Sequence[DecodedPicture], batch_size: int) -> list[FeatureSet]:
        """At least one decoded picture -> the vectors of each; the backbone processes `batch_size` views at a time."""
        if isinstance(self.backbone, BackboneInput) or self.kind == "pixels":
            return [FeatureSet(picture.pixels.reshape(1, -1)) for picture in pictures]
        pixels = np.concatenate([picture.pixels for picture in pictures])
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
    pixels: NDArray[np.uint8],
    preprocessing: Preprocessing,
    device: torch.device,
) -> Tensor:
    """uint8 [batch, size, size, 3] -> the network's output in float32 on the device."""
    std = torch.tensor(preprocessing.std, device=device)
    shift = torch.tensor(preprocessing.mean, device=device) / std
    inputs = torch.from_numpy(pixels).to(device).float()
    # Scaling whole rows of pixels is several times faster than scaling three values at a time.
    inputs.flatten(2).mul_((1 / (255 * std)).repeat(inputs.shape[2])).sub_(shift.repeat(inputs.shape[2]))
    # Rows of RGB triples are already in channels-last layout, the faster one for convolutions.
    inputs = inputs.permute(0, 3, 1, 2)
    with torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
        outputs = network(inputs)
    if device.type == "cuda" and not torch.isfinite(outputs).all():
        outputs = network(inputs)  # some transformers exceed the range of half precision
    return outputs.float()


def _pool(cells: Tensor, picture: DecodedPicture) -> Tensor:
    """Cells [dim, rows, columns] -> the mean under each box of the picture, [boxes, dim]."""
    weights = coverage(picture.fractions, cells.shape[1], cells.shape[2])
    return torch.from_numpy(weights).to(cells) @ cells.flatten(1).T


def _half(values: Tensor) -> NDArray[np.float16]:
    array: NDArray[np.float16] = values.clamp_(-HALF_MAX, HALF_MAX).half().contiguous().cpu().numpy()
    return array
