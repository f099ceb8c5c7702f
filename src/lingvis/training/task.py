"""What is trained: a dual encoder, its objective and terms, and the captions and pictures that meet in a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.image.table import FeatureTable
from lingvis.layers.per_language import PerLanguageLinear
from lingvis.model.dual_encoder import DualEncoder, masked_mean
from lingvis.terms.domain_adversaries import DomainAdversaries, Domains
from lingvis.terms.masked_cross_language import MaskedCrossLanguage, Views, hide_words
from lingvis.text.bank import TokenBank
from lingvis.text.encoders import PerLanguageGRU
from lingvis.training.loop.graphs import GraphedCalls
from lingvis.training.loop.task import Task
from lingvis.training.loop.watch import Loss
from lingvis.training.pseudo import PseudoCaptions
from lingvis.training.sampling import CaptionTable
from lingvis.types import Clock, Reading, Sentences

# Sizes are rounded up to these multiples, so that batches have few different shapes.
LENGTH_MULTIPLE = 4
SIZE_MULTIPLE = 8
IMAGE_MULTIPLE = 16
WORD_MULTIPLE = 512

Ints = NDArray[np.int64]


class RetrievalTask(Task):
    """Image-text matching: one step sees a batch of captions and each of their pictures once.

    terms: further parts of the loss with their weights. groups: which picture each caption is about; captions
    whose picture is not there are seen by the terms alone. languages_apart: see TrainingSection.

    Burns et al. 2020, Eq. 4: the loss is Eq. 3 + weight * term for each term. Eq. 3, the objective, is
    summed over languages that are apart: the paper does not say, and with the mean the terms between sentences
    weigh so much that MULE and SMALR do not learn. With masked sentences it is computed on them too, and
    both count whole.

    pseudo: captions by detectors, behind those of people in a batch. The objective is then
    (1 - weight) * people's + weight * detectors', each with its own pictures and negatives (Huang et al. 2019, Eq. 3);
    terms between sentences see people's alone, and term `domains` sees all.
    """

    model: DualEncoder

    def __init__(
        self,
        *,
        model: DualEncoder,
        objective: nn.Module,
        terms: Mapping[str, tuple[float, nn.Module]],
        captions: TokenBank,
        mask_id: int,
        pictures: FeatureTable,
        groups: Ints,
        pseudo: PseudoCaptions | None = None,
        precision: torch.dtype,
        languages_apart: bool,
        graphs: bool,
    ) -> None:
        super().__init__()
        self.model, self.objective = model, objective
        self.terms = nn.ModuleDict({name: term for name, (_, term) in terms.items()})
        self._weights = {name: weight for name, (weight, _) in terms.items()}
        self._masked = next(
            (name for name, term in self.terms.items() if isinstance(term, MaskedCrossLanguage)), None
        )
        self._captions, self._pictures, self._precision = captions, pictures, precision
        self._pseudo = pseudo
        self._languages_apart, self._mask_id = languages_apart, mask_id
        # Where each language has a layer of its own, a recording depends on the languages of its rows.
        self._layers_apart = any(
            isinstance(part, PerLanguageLinear | PerLanguageGRU) for part in model.modules()
        )
        self.table = CaptionTable(groups, captions.langs, captions.rows.lengths, len(pictures))
        self._graphs = GraphedCalls(model) if graphs and pictures.resident and self._masked is None else None

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """Parameters by the names that a recipe's optimizer.factors uses: the model's own, terms.NAME, objective."""
        return {name.removeprefix("model."): parameter for name, parameter in self.named_parameters()}

    def train(self, mode: bool = True) -> RetrievalTask:
        """Training mode, or not; a batch norm whose weights are frozen keeps its statistics in either."""
        super().train(mode)
        for part in self.modules():
            if isinstance(part, nn.BatchNorm1d) and not any(each.requires_grad for each in part.parameters()):
                part.eval()
        return self

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The loss of a batch of captions.

        Pictures are filled up to a round number with repetitions. A repetition scores minus infinity everywhere,
        and so does a caption whose picture is not there: neither is anybody's negative.
        """
        groups = self.table.groups[rows]
        images = np.unique(groups[groups < self.table.images])
        real = len(images)
        images = np.concatenate([images, np.repeat(images[:1], -real % IMAGE_MULTIPLE)])
        matches = images[:, None] == groups
        people = len(rows)
        if self._pseudo is not None:
            people = int(np.searchsorted(rows >= self._pseudo.first, True))
            matches[:, people:] = self._pseudo.matches(images, rows[people:])
        matches[real:] = False
        device = self._pictures.device
        positives = torch.from_numpy(matches).to(device, non_blocking=True)
        langs = torch.from_numpy(self.table.langs[rows]).to(device, non_blocking=True)
        on_device = torch.from_numpy(groups).to(device, non_blocking=True)
        if self._masked is None:
            image_emb, text_emb, average = self._encode(rows, images)
            matching, blind = self._matching(
                image_emb, text_emb[:people], positives[:, :people], rows[:people], clock
            )
            total = matching
            if people < len(rows):
                wanted = positives[:, people:]
                if self._pseudo is not None and self._pseudo.teachers is not None:
                    wanted = self._pseudo.targets(images, rows[people:])
                there = positives[:, people:].any(dim=1, keepdim=True)
                total = self._with_pseudo(matching, image_emb, text_emb[people:], there, wanted, clock)
        else:
            image_emb, text_emb, average, hidden_emb, aligned = self._encode_masked(rows, images)
            matching, blind = self._matching(image_emb, text_emb, positives, rows, clock)
            total = matching + self._matching(image_emb, hidden_emb, positives, rows, clock)[0] + aligned
        sentences = Sentences(
            text_emb[:people].float(), average[:people].float(), on_device[:people], langs[:people]
        )
        for name, term in self.terms.items():
            if name == self._masked or self._weights[name] == 0:
                continue
            if not isinstance(term, DomainAdversaries):
                total = total + self._weights[name] * term(sentences, clock)
            elif people < len(rows):
                domains = self._domains(image_emb, text_emb, positives, people)
                total = total + self._weights[name] * term(domains, clock)
        return Loss(total, matching, blind)

    def _with_pseudo(
        self,
        matching: Tensor,
        image_emb: Tensor,
        text_emb: Tensor,
        there: Tensor,
        wanted: Tensor,
        clock: Clock,
    ) -> Tensor:
        """The objective of people's captions and that of detectors' together.

        there: which pictures have some; wanted: which captions fit, or the scores that teachers give.
        """
        assert self._pseudo is not None
        scores = self.model.similarity(image_emb.float(), text_emb.float())
        found: Tensor = self._pseudo.objective(scores.masked_fill(~there, -torch.inf), wanted, clock)
        return (1 - self._pseudo.weight) * matching + self._pseudo.weight * found

    @staticmethod
    def _domains(image_emb: Tensor, text_emb: Tensor, positives: Tensor, people: int) -> Domains:
        """The embeddings of a step by their origin."""
        annotated, described = positives[:, :people].any(dim=1), positives[:, people:].any(dim=1)
        return Domains(
            image=image_emb[annotated],
            text=text_emb[:people],
            image_only=image_emb[described],
            pseudo=text_emb[people:],
        )

    def _matching(
        self, image_emb: Tensor, text_emb: Tensor, positives: Tensor, rows: Ints, clock: Clock
    ) -> tuple[Tensor, Tensor]:
        """The objective between pictures and sentences, and what it would be if all scores were equal.

        With languages apart the sum over those in which the batch has a caption of a picture.
        """
        scores = self.model.similarity(image_emb.float(), text_emb.float())
        runs = self._captions.runs(rows) if self._languages_apart else ((0, len(rows)),)
        counts = [count for _, count in runs]
        shown = np.split(self.table.groups[rows] < self.table.images, np.cumsum(counts)[:-1])
        parts = zip(shown, scores.split(counts, dim=1), positives.split(counts, dim=1), strict=True)  # type: ignore[no-untyped-call]
        found, blind = [], []
        for with_picture, some, right in parts:
            if not with_picture.any():
                continue
            there = right.any(dim=1, keepdim=True) & right.any(dim=0, keepdim=True)
            compared = some.masked_fill(~there, -torch.inf)
            found.append(self.objective(compared, right, clock))
            with torch.no_grad():
                blind.append(self.objective(torch.where(there, 0.0, compared), right, clock))
        return torch.stack(found).sum(), torch.stack(blind).sum()

    def _encode(self, rows: Ints, images: Ints) -> tuple[Tensor, ...]:
        device = self._pictures.device
        size = self._pictures.rows.longest(images, multiple=SIZE_MULTIPLE)
        length = self._captions.rows.longest(rows, multiple=LENGTH_MULTIPLE)
        words = self._captions.words(rows, multiple=WORD_MULTIPLE)
        runs = self._captions.runs(rows)

        def encode(caption_rows: Tensor, image_rows: Tensor, word_places: Tensor) -> tuple[Tensor, ...]:
            with self._autocast():
                image_emb = self.model.encode_images(self._pictures.gather(image_rows, size))
                batch = self._captions.gather(caption_rows, length, runs=runs, words=word_places)
                text_emb, reading = self.model.read_texts(self.model.text.augment(batch))
            return image_emb, text_emb, reading.average

        inputs = tuple(torch.from_numpy(each).to(device, non_blocking=True) for each in (rows, images, words))
        if self._graphs is None:
            return encode(*inputs)
        shape = (len(rows), len(images), len(words), length, size, runs if self._layers_apart else ())
        return self._graphs(shape, encode, inputs)

    def _encode_masked(self, rows: Ints, images: Ints) -> tuple[Tensor, ...]:
        """As above, with the same sentences, augmented once, read again with words hidden (SMALR, section 3.2).

        Returns the embeddings, the word averages, the embeddings of the masked sentences and the weighted
        masked cross-language loss.
        """
        assert self._masked is not None
        term = self.terms[self._masked]
        assert isinstance(term, MaskedCrossLanguage)
        with self._autocast():
            image_emb = self.model.encode_images(self._pictures.batch(images))
            batch = self.model.text.augment(self._captions.batch(rows))
            text_emb, whole = self.model.read_texts(batch)
            hidden = hide_words(batch.ids, batch.mask, self.model.text.special, term.p)
            masked_batch = replace(batch, ids=batch.ids.masked_fill(hidden, self._mask_id))
            hidden_emb, masked = self.model.read_texts(masked_batch)
            views = self._views(whole), self._views(masked)
        loss = term(*views, self._places(rows))
        return image_emb, text_emb, whole.average, hidden_emb, self._weights[self._masked] * loss

    def _views(self, reading: Reading) -> Views:
        """At both levels the mean over the words, and all that is needed for a recurrent view.

        A hidden word is the mask token, and so no word any more: means leave it out.
        """
        states = masked_mean(reading.states, reading.is_word)
        sentence_average = self.model.text.head(states, reading.words.runs)
        return Views(reading.words, reading.average, sentence_average, reading.sentence)

    def _places(self, rows: Ints) -> Tensor:
        """Row of the first sentence about each picture in each language, -1 where there is none, [groups, langs]."""
        groups, places = np.unique(self.table.groups[rows], return_inverse=True)
        found = np.full((len(groups), int(self.table.langs.max()) + 1), -1, np.int64)
        backwards = np.arange(len(rows))[::-1]  # of several, the one written last stays
        found[places[backwards], self.table.langs[rows][backwards]] = backwards
        return torch.from_numpy(found).to(self._pictures.device, non_blocking=True)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(
            self._pictures.device.type,
            dtype=self._precision,
            enabled=self._precision != torch.float32,
            cache_enabled=False,
        )
