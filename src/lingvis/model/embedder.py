"""A trained model in use: sentences and pictures -> embeddings. It needs only its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lingvis.arrays import Floats, Ints, StoredValues
from lingvis.data.picture_input import PictureInput, check_pictures
from lingvis.data.rows import Box
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, BackboneInput, load_backbone
from lingvis.features.description import Features
from lingvis.features.encode import PictureEncoder, encode_pictures
from lingvis.features.pictures import DecodedPicture
from lingvis.features.preprocessing import Preprocessing
from lingvis.image.table import FeatureTable
from lingvis.model.added_language import AddedLanguage, read_added
from lingvis.model.allocation import AllocationLimit
from lingvis.model.build import build_model, build_tokenizer, model_problems
from lingvis.model.dual_encoder import DualEncoder
from lingvis.model.folder import CONFIG, WEIGHTS, ModelConfig, report_damage
from lingvis.model.requests import check_dim, first_values, sentence_languages
from lingvis.model.weights import read_tensors
from lingvis.pretrained import find_model
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import Tokenizer

BATCH = 256


class Embedder:
    """A dual encoder with its tokenizer and the description of the features it was trained on.

    trained: the languages of the joint training. added: languages added later, each with a separate word part for
    its sentences; sentences of other languages are encoded as before.
    """

    def __init__(
        self,
        *,
        name: str,
        model: DualEncoder,
        tokenizer: Tokenizer,
        features: Features,
        languages: Sequence[str],
        device: torch.device,
        added: Mapping[str, AddedLanguage] = MappingProxyType({}),
    ) -> None:
        self.name, self.model, self.tokenizer = name, model, tokenizer
        self.features, self.device = features, device
        self.trained, self.added = list(languages), dict(added)
        self._backbone: Backbone | BackboneInput | None = None
        self._pictures: PictureEncoder | None = None

    @classmethod
    def load(cls, run: Path | str | None = None, *, device: str | None = None) -> Embedder:
        """Load a model folder to the device, cpu or cuda; missing and unexpected weights are errors.

        run: the folder, or the name of a model that comes with lingvis, by default lingvis-base; a folder of that
        name in the working directory goes before it.
        """
        run, where = find_model(run), choose_device(device)
        config = ModelConfig.read(run)
        with report_damage(str(run / CONFIG)):
            problems = model_problems(config.model.model_dump())
            if problems:
                raise ValueError("; ".join(problems))
            tokenizer = build_tokenizer(config.model)
        with report_damage(f"the tokenizer in {run}"):
            tokenizer.load(run)
        tensors = read_tensors(run)
        with report_damage(str(run / CONFIG)), AllocationLimit(tensors):
            model = build_model(
                config.model,
                feature_dim=config.features.dim,
                vocabulary=tokenizer.vocabulary,
                seed=0,
                languages=len(config.languages),
                folder=run,
            )
        try:
            model.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise UserError(
                f"the weights in {run} do not fit its config.json: {str(error).splitlines()[-1].strip()}"
            ) from error
        short = config.model.similarity.options.get("dim")
        if short and model.dim != short:
            raise UserError(
                f"{run / WEIGHTS} is damaged (similarity.directions is zero); restore the file or train again"
            )
        model = model.to(where).eval()
        # The order in which TokenBank numbers languages.
        numbered = tokenizer.vocabulary.languages or config.languages
        added = {lang: read_added(run, lang, model.text, numbered).to(where) for lang in config.added}
        return cls(
            name=run.resolve().name,
            model=model,
            tokenizer=tokenizer,
            features=config.features,
            languages=config.languages,
            device=where,
            added=added,
        )

    @property
    def languages(self) -> list[str]:
        """All languages: first the jointly trained, then the added ones."""
        return [*self.trained, *self.added]

    @property
    def uses_language(self) -> bool:
        """Whether the language of a sentence matters, so that a wrong one gives another embedding."""
        return bool(self.added or self.tokenizer.vocabulary.languages) or self.model.text.per_language

    @property
    def parameters(self) -> dict[str, int]:
        """Numbers of values, see `DualEncoder.parameter_counts`; word parts of added languages count as text."""
        counts, more = self.model.parameter_counts(), sum(each.values for each in self.added.values())
        return counts | {key: counts[key] + more for key in ("text", "total", "test")}

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self.model.dim

    @property
    def inner_product(self) -> bool:
        """Whether the score of a picture and a sentence is the inner product of their embeddings."""
        return self.model.similarity.indexable

    @property
    def pooled(self) -> bool:
        """Whether an embedding is one vector; otherwise it is a set of vectors, [L, dim], zeros after the last."""
        return self.model.similarity.pooled

    @property
    def image_fingerprint(self) -> str:
        """Hash of the image side, see `DualEncoder.image_fingerprint`."""
        return self.model.image_fingerprint()

    @property
    def text_fingerprint(self) -> str:
        """Hash of the text side, then one per added language: "HASH cs=HASH"."""
        base = _digest(json.dumps(self.trained), self.model.text)
        added = [f"{lang}={_digest(lang, language.branch)}" for lang, language in self.added.items()]
        return " ".join([base, *added])

    @property
    def backbone(self) -> Backbone | BackboneInput:
        """The backbone of the features that the model was trained on, loaded at first use.

        A model with a trained backbone contains the network; here it has the preprocessing alone.
        """
        if self._backbone is None and self.features.kind == "pixels":
            assert self.features.preprocessing is not None
            self._backbone = BackboneInput(self.features.backbone, self.features.preprocessing)
        if self._backbone is None:
            backbone = load_backbone(self.features.backbone, device=str(self.device), fetch=False)
            encoder = PictureEncoder(backbone, kind=self.features.kind, regions=self.features.region_mode)
            if self.features.preprocessing not in (None, encoder.preprocessing):
                raise UserError(
                    f"backbone {backbone.name} prepares pictures differently from when model {self.name} was "
                    "trained; install the version of its package that the features were extracted with"
                )
            self._backbone = backbone
        return self._backbone

    @property
    def picture_encoder(self) -> PictureEncoder:
        """Pictures -> the features of `encode_features`."""
        if self._pictures is None:
            features = self.features
            self._pictures = PictureEncoder(self.backbone, kind=features.kind, regions=features.region_mode)
        return self._pictures

    @property
    def preprocessing(self) -> Preprocessing:
        """How pictures become the pixels that `encode_decoded` takes."""
        return self.picture_encoder.preprocessing

    def encode_texts(
        self, texts: Sequence[str], lang: str | Sequence[str], *, dim: int | None = None
    ) -> Floats:
        """Sentences -> float32 [texts, dim]; lang: the language of all, or one per sentence.

        dim: keep the first values only, scaled to unit length again; for models with `inner_product`.
        """
        langs = sentence_languages(texts, lang)
        self._check_dim(dim)
        emb = self._encode_sides(texts, langs) if texts else np.zeros((0, self.dim), np.float32)
        return emb if dim is None else first_values(emb, dim)

    def _encode_sides(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Encode sentences, each by the text side of its language."""
        # "": the text side of the model.
        sides = [each if each in self.added else "" for each in langs]
        if len(set(sides)) == 1:
            return self._encode_texts(sides[0], texts, langs)
        emb = np.empty((len(texts), self.dim), np.float32)
        for side in dict.fromkeys(sides):
            rows = [row for row, each in enumerate(sides) if each == side]
            emb[rows] = self._encode_texts(side, [texts[row] for row in rows], [langs[row] for row in rows])
        return emb

    def _encode_texts(self, side: str, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Encode sentences by the text side of an added language, or of the model."""
        if side:
            added = self.added[side]
            bank = added.bank(texts, self.device)
            return self._in_batches(
                np.argsort(bank.rows.lengths, kind="stable"),
                lambda rows: self.model.similarity.prepare_texts(added.branch(bank.batch(rows))),
            )
        bank = TokenBank(
            tokenizer=self.tokenizer, texts=texts, langs=langs, languages=self.trained, device=self.device
        )
        # Sort by length to reduce padding; with one layer per language, sort by language first.
        apart = bank.langs if self.tokenizer.vocabulary.blocks else np.zeros_like(bank.langs)
        order = np.lexsort((bank.rows.lengths, apart))
        return self._in_batches(order, lambda rows: self.model.encode_texts(bank.batch(rows)))

    def encode_images(
        self,
        pictures: Sequence[PictureInput],
        *,
        boxes: Sequence[Sequence[Box]] | None = None,
        dim: int | None = None,
    ) -> Floats:
        """Pictures -> float32 [pictures, dim], through the backbone that the model was trained on.

        pictures: paths, bytes, open files, images of Pillow, or arrays uint8 [height, width, 3].
        boxes: for a model of regions, the regions of each picture in pixels; by default the whole picture is one region.
        dim: as for `encode_texts`.
        """
        check_pictures(pictures)
        self._check_dim(dim)
        sets = encode_pictures(
            pictures, self.backbone, self.features.kind, regions=self.features.region_mode, boxes=boxes
        )
        return self.encode_features(list(sets), dim=dim)

    def encode_decoded(self, pictures: Sequence[DecodedPicture]) -> Floats:
        """Decoded pictures of one view each -> float32 [pictures, dim]."""
        sets = self.picture_encoder.encode(pictures, len(pictures)) if pictures else []
        return self.encode_features([encoded.values for encoded in sets])

    def encode_features(self, sets: Sequence[StoredValues], *, dim: int | None = None) -> Floats:
        """Feature sets, each [size, feature_dim] -> float32 [sets, dim]; dim: as for `encode_texts`."""
        self._check_dim(dim)
        if not sets:
            return np.zeros((0, dim or self.dim), np.float32)
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
        rows = np.arange(len(sets))
        stored = np.concatenate(sets)
        values = stored if stored.dtype == np.uint8 else stored.astype(np.float16)
        emb = self.encode_table(FeatureTable(values=values, offsets=offsets, rows=rows, device=self.device))
        return emb if dim is None else first_values(emb, dim)

    def encode_table(self, table: FeatureTable) -> Floats:
        """All sets of a feature table -> float32 [sets, dim]."""
        order = np.argsort(table.rows.lengths, kind="stable")  # sets of similar size together: little padding
        return self._in_batches(order, lambda rows: self.model.encode_images(table.batch(rows)))

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Embeddings of pictures and of sentences -> the score of every pair, float32 [pictures, sentences]."""
        sides = (torch.from_numpy(emb).to(self.device) for emb in (image_emb, text_emb))
        with torch.inference_mode():
            scores: Floats = self.model.similarity(*sides).cpu().numpy()
        return scores

    def _check_dim(self, dim: int | None) -> None:
        """Raise unless embeddings can be cut to `dim` values."""
        if dim is not None and not self.inner_product:
            raise UserError(
                f"dim is {dim}, but the scores of model {self.name} are not inner products, so its embeddings cannot "
                "be cut; leave dim out"
            )
        check_dim(self.name, dim, self.dim)

    def _in_batches(self, order: Ints, encode: Callable[[Ints], torch.Tensor]) -> Floats:
        """Encode rows in the given order; the results are in the original order."""
        training = self.model.training
        if training:  # parts keep results for inference until the mode is switched
            self.model.eval()
        with torch.inference_mode():
            parts = [encode(order[first : first + BATCH]) for first in range(0, len(order), BATCH)]
            if not self.pooled:  # pad sets to one size, so that they fit one array
                longest = max(part.shape[1] for part in parts)
                parts = [F.pad(part, (0, 0, 0, longest - part.shape[1])) for part in parts]
            emb: Floats = torch.cat(parts).float().cpu().numpy()
        if training:
            self.model.train()
        back = np.empty_like(emb)
        back[order] = emb
        return back


def _digest(start: str, module: nn.Module) -> str:
    digest = hashlib.sha256(start.encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
