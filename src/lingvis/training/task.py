"""The training task: a dual encoder, the terms of its loss, and the batches of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

import torch
from torch import Tensor, nn

from lingvis.arrays import Ints
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.layers.valid import leaves_out
from lingvis.model.dual_encoder import DualEncoder, masked_mean
from lingvis.processes.exchange import gathered, own_share
from lingvis.processes.group import process_count, process_number
from lingvis.terms import ClassStep, Rereading, Step, Term, TermWeight, Views, hide_words
from lingvis.training.batches import Batch, Batches, BatchTensors
from lingvis.training.encoded import Encoded, chunk_count, in_chunks, is_split
from lingvis.training.loop.task import RecordableLoss, Task
from lingvis.training.loop.watch import Loss
from lingvis.types import Clock, LanguageRows, TextBatch, TextStates, Tokens


class RetrievalTask(Task):
    """Image-text matching: a step encodes a batch of sentences, and each of their pictures once.

    The loss is the sum of weight * term over all terms. The first term with a blind value is watched for a
    collapse. mask_id: the token in place of a hidden word. known_classes [pictures, classes]: the scores of classes
    before training, for models with classes. chunk: most sentences and pictures to encode at once; 0: no limit.
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
        chunk: int = 0,
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
        self._chunk = chunk
        # Batch norms of words need all words of a batch.
        self._own_words = not any(isinstance(part, MaskedBatchNorm) for part in model.text.words.modules())
        # With one encoder or head per language, a recording depends on the languages of its rows; words find theirs by a
        # table.
        self._layers_apart = model.text.encoder.per_language or model.text.head.per_language
        self._rereads = any(term.rereads for _, term in self._weighted.values())
        self._recorded = graphs and batches.pictures.resident and not chunk and not self.shared

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

    @property
    def shared(self) -> bool:
        """Whether there are several processes."""
        return process_count() > 1

    @property
    def recorded(self) -> bool:
        """Whether steps are recorded: pictures are on the GPU, and no part reads values on the host."""
        return self._recorded

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The loss of a batch of sentences by number."""
        return self._loss(self._batches.cut(rows), clock)

    def recordable(self, rows: Ints, clock: Clock) -> RecordableLoss:
        """The loss of a batch as a function of tensors on the device."""
        batch = self._batches.cut(rows)
        phases = tuple(
            (bool(weight.at(clock)), term.phase(clock)) for weight, term in self._weighted.values()
        )
        return RecordableLoss(
            shape=(batch.shape(runs=self._layers_apart, groups=self._rereads), phases),
            inputs=batch.tensors.flat(),
            loss=lambda inputs, clock: self._loss(replace(batch, tensors=batch.tensors.like(inputs)), clock),
        )

    def _loss(self, batch: Batch, clock: Clock) -> Loss:
        """The weighted sum of the terms that have a weight now."""
        step = self._encode(batch, clock)
        present = {name: pair for name, pair in self._weighted.items() if pair[0].at(clock)}
        values = {name: term(step) for name, (_, term) in present.items()}
        parts = {name: clock.value(weight.at) * values[name] for name, (weight, _) in present.items()}
        for name, (_, term) in present.items():
            if (blind := term.blind(step)) is not None:
                return Loss(parts, watched=name, matching=values[name], blind=blind)
        return Loss(parts)

    def _encode(self, batch: Batch, clock: Clock) -> Step:
        """Encode a batch into the step that terms see."""
        own = self._part(batch, process_number(), process_count()) if is_split(batch) else batch
        reread: Callable[[float], Rereading] = _no_rereading
        if self._chunk:
            count = chunk_count(own, self._chunk)
            chunks = [self._part(own, number, count) for number in range(count)]
            encoded = in_chunks(lambda chunk: self._vectors(chunk)[0], chunks)
        else:
            encoded, texts, states = self._vectors(own)
            if self._rereads:
                gather = partial(gathered, size=len(batch.rows)) if own is not batch else _same
                reread = self._rereading(texts, states, gather)
        if own is not batch:
            encoded = encoded.gathered(batch)
        tensors = batch.tensors
        similarity = self.model.similarity
        # Scores of sets of vectors are the larger part of the work: each process computes those of its pictures.
        divided = own is not batch and not similarity.pooled
        return Step(
            image_emb=encoded.image_emb,
            text_emb=encoded.text_emb,
            word_average=encoded.word_average,
            positives=tensors.positives,
            images=tensors.images,
            groups=tensors.groups,
            langs=tensors.langs,
            columns=batch.columns,
            clock=clock,
            similarity=self._divided_scores if divided else similarity,
            reread=reread,
            pair_values=tensors.pair_values,
            targets=tensors.targets,
            classes=self._classes(encoded, tensors),
        )

    def _divided_scores(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        """Scores [I, T], of which every process computes some rows."""
        own = own_share(len(image_emb), process_number(), process_count())
        return gathered(self.model.similarity(image_emb[own], text_emb), len(image_emb))

    def _part(self, batch: Batch, number: int, count: int) -> Batch:
        return self._batches.part(batch, number, count, words=self._own_words)

    def _vectors(self, batch: Batch) -> tuple[Encoded, TextBatch, TextStates]:
        """The vectors of a batch, or of a part of one, and the augmented sentences."""
        tensors = batch.tensors
        with self._autocast():
            image_emb, class_emb, class_scores = self._encode_images(batch)
            texts = self._batches.captions.gather(
                tensors.rows, batch.length, runs=batch.runs, words=tensors.words, stages=batch.stages
            )
            texts = self.model.text.augment(replace(texts, languages=self._languages(batch)))
            text_emb, states = self.model.encode_with_states(texts)
        vectors = image_emb.float(), text_emb.float(), states.average.float()
        return Encoded(*vectors, class_emb, class_scores), texts, states

    def _languages(self, batch: Batch) -> LanguageRows | None:
        """The languages of the rows on the device, where words with one layer per language take them from there.

        On a CPU, and in a part of a batch, these take the runs, which need no padding.
        """
        langs = batch.tensors.langs
        if not self.model.text.words.per_language or leaves_out(langs) or len(langs) != len(batch.rows):
            return None
        return LanguageRows.of(langs, batch.columns.language_counts())

    def _encode_images(self, batch: Batch) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Embeddings of pictures [I, D]; of a model that has classes, embeddings [K, D] and scores [I, C] of these."""
        tensors = batch.tensors
        if not len(tensors.images):  # no term of a task without pictures looks at them
            return torch.zeros(0, self.model.dim, device=tensors.images.device), None, None
        pictures = self._batches.pictures.gather(tensors.images, batch.size)
        if not len(tensors.classes):
            return self.model.encode_images(pictures), None, None
        image_emb, class_emb, scores = self.model.encode_with_classes(pictures, tensors.classes)
        return image_emb, class_emb.float(), scores

    def _classes(self, encoded: Encoded, tensors: BatchTensors) -> ClassStep | None:
        """The classes of a step, if it has any."""
        if encoded.class_emb is None:
            return None
        assert encoded.class_scores is not None and self._known_classes is not None
        assert tensors.class_positives is not None and tensors.class_named is not None
        return ClassStep(
            image_emb=encoded.class_emb,
            positives=tensors.class_positives,
            named=tensors.class_named,
            scores=encoded.class_scores,
            known=self._known_classes[tensors.images],
        )

    def _rereading(
        self, texts: TextBatch, whole: TextStates, gather: Callable[[Tensor], Tensor]
    ) -> Callable[[float], Rereading]:
        """A function that encodes the augmented sentences again with words hidden (SMALR, Sec. 3.2).

        gather: rows of the part of this process -> rows of the batch.
        """

        @cache
        def reread(p: float) -> Rereading:
            with self._autocast():
                hidden = hide_words(texts.ids, texts.mask, self.model.text.special, p)
                masked = replace(texts, ids=texts.ids.masked_fill(hidden, self._mask_id))
                masked_emb, reading = self.model.encode_with_states(masked)
                views = self._views(whole, gather), self._views(reading, gather)
            return Rereading(gather(masked_emb.float()), *views)

        return reread

    def _views(self, reading: TextStates, gather: Callable[[Tensor], Tensor]) -> Views:
        """The views of encoded sentences. A hidden word is the mask token; averages leave it out."""
        states = masked_mean(reading.states, reading.is_word)
        sentence_average = self.model.text.head(states, reading.words.runs)
        words = Tokens(gather(reading.words.values), gather(reading.words.mask))
        return Views(words, gather(reading.average), gather(sentence_average), gather(reading.sentence))

    def _autocast(self) -> torch.autocast:
        return torch.autocast(
            self._batches.device.type,
            dtype=self._precision,
            enabled=self._precision != torch.float32,
            cache_enabled=False,
        )


def _no_rereading(p: float) -> Rereading:
    raise ValueError("no term of this task announced that it encodes sentences again")


def _same(rows: Tensor) -> Tensor:
    return rows
