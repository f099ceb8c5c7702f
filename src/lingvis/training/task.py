"""The training task: a dual encoder, the terms of its loss, and the batches of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from lingvis.arrays import Ints
from lingvis.model.dual_encoder import DualEncoder, masked_mean
from lingvis.terms import ClassStep, Rereading, Step, Term, TermWeight, Views, hide_words
from lingvis.training.batches import Batch, Batches
from lingvis.training.loop.graphs import GraphedCalls
from lingvis.training.loop.task import Task
from lingvis.training.loop.watch import Loss
from lingvis.types import Clock, TextStates

# Sizes are rounded up to these multiples, so that batches have few different shapes.
LENGTH_MULTIPLE = 4
SIZE_MULTIPLE = 8
WORD_MULTIPLE = 512


class RetrievalTask(Task):
    """Image-text matching: a step encodes a batch of sentences, and each of their pictures once.

    The loss is the sum of weight * term over all terms. The first term with a blind value is watched for a
    collapse. mask_id: the token in place of a hidden word. known_classes [pictures, classes]: the scores of classes
    before training, for models with classes.
    """

    model: DualEncoder

    def __init__(
        self,
        *,
        model: DualEncoder,
        terms: Mapping[str, tuple[TermWeight, Term]],
        batches: Batches,
        mask_id: int,
        precision: torch.dtype,
        graphs: bool,
        known_classes: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.terms = nn.ModuleDict({name: term for name, (_, term) in terms.items()})
        self._weighted = {name: (weight, term) for name, (weight, term) in terms.items() if weight.value}
        self._batches = batches
        self._mask_id = mask_id
        self._precision = precision
        self._known_classes = known_classes
        # With one layer per language, a recording depends on the languages of its rows.
        self._layers_apart = model.text.per_language
        self._rereads = any(term.rereads for _, term in self._weighted.values())
        recorded = graphs and batches.pictures.resident and not self._rereads
        self._graphs = GraphedCalls(model) if recorded else None

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """Parameters by their names in optimizer.factors: those of the model, and terms.NAME."""
        return {name.removeprefix("model."): parameter for name, parameter in self.named_parameters()}

    def train(self, mode: bool = True) -> RetrievalTask:
        """Set the training mode; a batch norm with frozen weights always keeps its statistics."""
        super().train(mode)
        for part in self.modules():
            if isinstance(part, nn.BatchNorm1d) and not any(each.requires_grad for each in part.parameters()):
                part.eval()
        return self

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The loss of a batch of sentences by number."""
        step = self._encode(self._batches.cut(rows), clock)
        weights = {name: weight.at(clock) for name, (weight, _) in self._weighted.items()}
        present = {name: term for name, (_, term) in self._weighted.items() if weights[name]}
        values = {name: term(step) for name, term in present.items()}
        parts = {name: weights[name] * value for name, value in values.items()}
        for name, term in present.items():
            if (blind := term.blind(step)) is not None:
                return Loss(parts, watched=name, matching=values[name], blind=blind)
        return Loss(parts)

    def _encode(self, batch: Batch, clock: Clock) -> Step:
        """Encode a batch into the step that terms see."""
        if self._rereads:
            image_emb, text_emb, word_average, reread = self._encode_to_reread(batch)
            seen: list[Tensor] = []
        else:
            image_emb, text_emb, word_average, *seen = self._encode_once(batch)
            reread = _no_rereading
        return Step(
            image_emb=image_emb.float(),
            text_emb=text_emb.float(),
            word_average=word_average.float(),
            positives=batch.positives,
            groups=batch.groups,
            langs=batch.langs,
            columns=batch.columns,
            clock=clock,
            similarity=self.model.similarity,
            reread=reread,
            pair_values=batch.pair_values,
            targets=batch.targets,
            classes=self._classes(batch, *seen) if seen else None,
        )

    def _classes(self, batch: Batch, class_emb: Tensor, scores: Tensor) -> ClassStep:
        """The classes of a step, from imagined pictures and the scores of the real ones."""
        assert batch.classes is not None and self._known_classes is not None
        images = torch.from_numpy(batch.images).to(scores.device, non_blocking=True)
        return ClassStep(
            image_emb=class_emb.float(),
            positives=batch.classes.positives,
            named=batch.classes.named,
            scores=scores,
            known=self._known_classes[images],
        )

    def _encode_once(self, batch: Batch) -> tuple[Tensor, ...]:
        """Embeddings of pictures [I, D] and sentences [T, D] and word averages [T, W], with CUDA graphs if enabled.

        With classes also: embeddings of imagined pictures [K, D], and scores of classes [I, classes].
        """
        captions, pictures = self._batches.captions, self._batches.pictures
        size = pictures.rows.longest(batch.images, multiple=SIZE_MULTIPLE) if len(batch.images) else 0
        length = captions.rows.longest(batch.rows, multiple=LENGTH_MULTIPLE)
        words = captions.words(batch.rows, multiple=WORD_MULTIPLE)
        runs = captions.runs(batch.rows)
        classes = np.empty(0, np.int64) if batch.classes is None else batch.classes.classes

        def encode(
            caption_rows: Tensor, image_rows: Tensor, word_places: Tensor, class_rows: Tensor
        ) -> tuple[Tensor, ...]:
            with self._autocast():
                if len(class_rows):
                    tokens = pictures.gather(image_rows, size)
                    image_emb, *seen = self.model.encode_with_classes(tokens, class_rows)
                else:
                    image_emb, seen = self._encode_images(image_rows, size), []
                texts = captions.gather(caption_rows, length, runs=runs, words=word_places)
                text_emb, reading = self.model.encode_with_states(self.model.text.augment(texts))
            return image_emb, text_emb, reading.average, *seen

        host = (batch.rows, batch.images, words, classes)
        inputs = tuple(torch.from_numpy(values).to(pictures.device, non_blocking=True) for values in host)
        if self._graphs is None:
            return encode(*inputs)
        shape = (
            len(batch.rows),
            len(batch.images),
            len(words),
            len(classes),
            length,
            size,
            runs if self._layers_apart else (),
        )
        return self._graphs(shape, encode, inputs)

    def _encode_images(self, rows: Tensor, size: int) -> Tensor:
        """Embeddings of pictures by number, [I, D]; no term of a task without pictures looks at them."""
        if not len(rows):
            return torch.zeros(0, self.model.dim, device=rows.device)
        return self.model.encode_images(self._batches.pictures.gather(rows, size))

    def _encode_to_reread(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Callable[[float], Rereading]]:
        """The same, and a function that encodes the augmented sentences again with words hidden (SMALR, Sec. 3.2)."""
        with self._autocast():
            pictures = self._batches.pictures
            image_rows = torch.from_numpy(batch.images).to(pictures.device, non_blocking=True)
            size = pictures.rows.longest(batch.images) if len(batch.images) else 0
            image_emb = self._encode_images(image_rows, size)
            texts = self.model.text.augment(self._batches.captions.batch(batch.rows))
            text_emb, whole = self.model.encode_with_states(texts)

        @cache
        def reread(p: float) -> Rereading:
            with self._autocast():
                hidden = hide_words(texts.ids, texts.mask, self.model.text.special, p)
                masked = replace(texts, ids=texts.ids.masked_fill(hidden, self._mask_id))
                masked_emb, reading = self.model.encode_with_states(masked)
                views = self._views(whole), self._views(reading)
            return Rereading(masked_emb.float(), *views)

        return image_emb, text_emb, whole.average, reread

    def _views(self, reading: TextStates) -> Views:
        """The views of encoded sentences. A hidden word is the mask token; averages leave it out."""
        states = masked_mean(reading.states, reading.is_word)
        sentence_average = self.model.text.head(states, reading.words.runs)
        return Views(reading.words, reading.average, sentence_average, reading.sentence)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(
            self._batches.device.type,
            dtype=self._precision,
            enabled=self._precision != torch.float32,
            cache_enabled=False,
        )


def _no_rereading(p: float) -> Rereading:
    raise ValueError("no term of this task announced that it encodes sentences again")
