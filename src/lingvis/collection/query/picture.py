"""A picture that is asked with and stored nowhere: an open file -> what the backbone takes."""

from __future__ import annotations

import math
from typing import BinaryIO

import numpy as np
from PIL import ImageOps, UnidentifiedImageError

from lingvis.data.formats import open_picture
from lingvis.errors import UserError
from lingvis.features.backbones import Preprocessing
from lingvis.features.pictures import Decoded, cut_of, shorter_side, square_of, to_rgb, upright_size


def decode_open(file: BinaryIO, preprocessing: Preprocessing) -> Decoded:
    """The one view of a whole picture, read from its start."""
    try:
        with open_picture(file) as image:
            width, height = upright_size(image)
            cut = cut_of(np.array([0.0, 0.0, width, height]), preprocessing)
            # A JPEG can be decoded at a half, a quarter or an eighth: the smallest that still feeds the backbone.
            scale = min(1.0, preprocessing.size / shorter_side(cut))
            image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
            ImageOps.exif_transpose(image, in_place=True)
            pixels = to_rgb(image)
            ratio = np.array([pixels.width / width, pixels.height / height] * 2)
            square = square_of(pixels, cut * ratio, preprocessing)
    except UnidentifiedImageError as error:
        raise UserError("the file is not a picture of a known format; send a JPEG, PNG or WebP") from error
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        raise UserError(f"the picture cannot be used: {error or type(error).__name__}") from error
    whole = np.array([[0.0, 0.0, width, height]], np.float32)
    return Decoded(square[None], whole, np.array([[0.0, 0.0, 1.0, 1.0]]))
