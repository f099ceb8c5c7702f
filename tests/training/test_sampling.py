from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.recipes.options import part_problems
from lingvis.training.sampling import SAMPLERS, CaptionSampler, ImageSampler, SentenceTable

from .tables import make_table

Ints = NDArray[np.int64]


def caption_table(lengths: Ints, langs: Ints | None = None, text_only: int = 0) -> SentenceTable:
    """Two captions a picture; the last `text_only` of them are about pictures that are not there."""
    groups = np.arange(len(lengths)) // 2
    images = (len(lengths) - text_only) // 2
    return make_table(groups, np.zeros_like(groups) if langs is None else langs, lengths, images)


def captions_once(lengths: Ints, bucket: int, seed: int, epoch: int, size: int = 8) -> list[Ints]:
    return CaptionSampler(captions=caption_table(lengths), batch_size=size, bucket=bucket).epoch(seed, epoch)


@pytest.mark.parametrize(("captions", "bucket"), [(100, 1), (100, 3), (97, 2), (7, 5), (33, 1)])
def test_every_caption_comes_once_an_epoch(captions: int, bucket: int) -> None:
    generator = np.random.default_rng(0)
    lengths, langs = generator.integers(1, 30, captions), generator.integers(0, 3, captions)
    table = make_table(np.arange(captions), langs, lengths, captions)
    sampler = CaptionSampler(captions=table, batch_size=8, bucket=bucket)
    batches = sampler.epoch(1, 2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(captions))
    assert len(batches) == sampler.batch_count()
    assert min(len(batch) for batch in batches) > 1
    for batch in batches:
        assert (np.diff(langs[batch]) >= 0).all()  # languages lie together


def test_batches_depend_on_seed_and_epoch_alone() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        batches = captions_once(np.arange(50), 2, seed, epoch)
        return [int(row) for batch in batches for row in batch]

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


@pytest.mark.parametrize("bucket", [1, 3])
def test_captions_meet_others_in_every_epoch(bucket: int) -> None:
    def company(epoch: int) -> set[frozenset[int]]:
        return {frozenset(batch.tolist()) for batch in captions_once(np.full(80, 5), bucket, 0, epoch)}

    assert not company(0) & company(1)
    assert frozenset(range(8)) not in company(0)


def test_buckets_bring_like_lengths_together() -> None:
    lengths = np.random.default_rng(0).integers(3, 40, 4000)

    def padding(bucket: int) -> int:
        batches = captions_once(lengths, bucket, 0, 0, size=32)
        return sum(int(lengths[batch].max()) * len(batch) for batch in batches) - int(lengths.sum())

    assert padding(20) < padding(1) / 5


def test_captions_without_a_picture_are_not_sampled_as_captions() -> None:
    sampler = CaptionSampler(captions=caption_table(np.full(60, 4), text_only=20), batch_size=8)
    assert sorted(np.concatenate(sampler.epoch(0, 0)).tolist()) == list(range(40))
    assert sampler.batch_count() == 5


def test_temperature_raises_the_share_of_small_languages() -> None:
    counts = {0: 8000, 2: 1000, 3: 1000}  # language 1 has no captions
    langs = np.repeat(list(counts), list(counts.values()))
    sampler = CaptionSampler(
        captions=caption_table(np.full(10_000, 4), langs), batch_size=100, temperature=3.0
    )
    drawn = np.concatenate(sampler.epoch(0, 0))
    assert len(drawn) == 10_000
    weights = {lang: count ** (1 / 3) for lang, count in counts.items()}
    for lang, weight in weights.items():
        share = weight / sum(weights.values())
        # Three standard deviations of a binomial of 10,000 draws are at most 0.015.
        assert float(np.mean(langs[drawn] == lang)) == pytest.approx(share, abs=0.015)
    assert len(set(drawn[langs[drawn] == 2].tolist())) > 800  # all captions of a language are drawn alike


IMAGES, TEXTS = 50, 30
# Captions of a picture in each of four languages; language 3 is rare, and only every fifth picture has it.
PER_CELL = (5, 2, 1, 1)


def image_table() -> SentenceTable:
    rows = [
        (group, lang)
        for group in range(IMAGES + TEXTS)
        for lang, count in enumerate(PER_CELL)
        if lang < 3 or group % 5 == 0
        for _ in range(count)
    ]
    shuffled = np.random.default_rng(3).permutation(np.asarray(rows, dtype=np.int64))
    return make_table(shuffled[:, 0].copy(), shuffled[:, 1].copy(), np.full(len(rows), 6), IMAGES)


def cells(table: SentenceTable, batch: Ints) -> Counter[tuple[int, int]]:
    return Counter(zip(table.groups[batch].tolist(), table.langs[batch].tolist(), strict=True))


@pytest.mark.parametrize(("batch_size", "passes"), [(16, 1), (35, 1), (25, 2), (64, 1)])
def test_every_picture_comes_once_a_pass_and_no_batch_has_one_twice(batch_size: int, passes: int) -> None:
    table = image_table()
    sampler = ImageSampler(captions=table, batch_size=batch_size, passes=passes, per_language=1)
    batches = sampler.epoch(0, 0)
    size = min(batch_size, IMAGES)
    assert len(batches) == sampler.batch_count() == passes * -(-IMAGES // size)
    for number in range(passes):
        one_pass = batches[number * len(batches) // passes : (number + 1) * len(batches) // passes]
        pictures = [set(table.groups[batch].tolist()) for batch in one_pass]
        assert all(len(found) == size for found in pictures)
        assert set.union(*pictures) == set(range(IMAGES))
        assert not any(a & b for n, a in enumerate(pictures[:-1]) for b in pictures[:n])


@pytest.mark.parametrize("per_language", [1, 2, 7])
def test_every_cell_gives_the_asked_captions_and_fill_ups_stay_in_the_batch(per_language: int) -> None:
    table = image_table()
    sampler = ImageSampler(captions=table, batch_size=16, per_language=per_language)
    there = set(zip(table.groups.tolist(), table.langs.tolist(), strict=True))
    for batch in sampler.epoch(1, 0):
        assert len(batch) % ImageSampler.ROUND == 0
        assert (np.diff(table.langs[batch]) >= 0).all()
        found, pictures = cells(table, batch), set(table.groups[batch].tolist())
        asked = {
            (group, lang): min(per_language, PER_CELL[lang]) for group, lang in there if group in pictures
        }
        assert set(found) == set(asked)
        assert len(pictures) == 16
        assert all(found[cell] >= count for cell, count in asked.items())
        different = {
            cell: len({row for row in batch.tolist() if _cell(table, row) == cell}) for cell in asked
        }
        assert all(different[cell] >= count for cell, count in asked.items())
        # Fill-ups are at most one short of a round number, and repeat nothing while there is something else.
        missing = len(batch) - sum(asked.values())
        assert 0 <= missing < ImageSampler.ROUND
        others = sum(PER_CELL[lang] for _, lang in asked) - sum(asked.values())
        assert len(batch) - len(set(batch.tolist())) == max(0, missing - others)


@pytest.mark.parametrize("per_cell", [1, 2])
def test_captions_are_repeated_only_when_there_are_no_others(per_cell: int) -> None:
    """40 pictures, one caption asked for in one language: 24 are missing."""
    groups = np.repeat(np.arange(40), per_cell)
    table = make_table(groups, np.zeros_like(groups), np.full(len(groups), 5), 40)
    found: Counter[int] = Counter()
    for epoch in range(200):
        (batch,) = ImageSampler(captions=table, batch_size=40).epoch(0, epoch)
        assert len(batch) == 64
        assert set(table.groups[batch].tolist()) == set(range(40))
        assert len(set(batch.tolist())) == (64 if per_cell == 2 else 40)
        found.update(batch.tolist())
    shares = np.array([found[row] for row in range(len(groups))]) / 200
    # Whatever fills up is drawn alike: 64 places for 40 or 80 captions; one caption's share spreads by 0.06.
    np.testing.assert_allclose(shares, 64 / len(groups), atol=0.3)


def _cell(table: SentenceTable, row: int) -> tuple[int, int]:
    return int(table.groups[row]), int(table.langs[row])


def test_every_caption_of_a_cell_is_drawn_equally_often() -> None:
    table = image_table()
    sampler = ImageSampler(captions=table, batch_size=IMAGES, per_language=2, passes=300)
    drawn = Counter(int(row) for batch in sampler.epoch(0, 0) for row in np.unique(batch))
    shares = [
        drawn[row] / 300 for row in np.flatnonzero((table.langs == 0) & (table.groups < IMAGES)).tolist()
    ]
    # 2 of 5 captions, and all 60 that fill up the 260 asked ones to 320, since no other language has more
    # than are drawn; one caption's share spreads by 0.03.
    assert len(shares) == 5 * IMAGES
    assert float(np.mean(shares)) == pytest.approx((2 * IMAGES + 60) / (5 * IMAGES))
    assert max(shares) - min(shares) < 0.2


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_languages_of_a_picture_are_drawn_by_temperature(temperature: float) -> None:
    table = image_table()
    sampler = ImageSampler(
        captions=table, batch_size=IMAGES, languages=1, temperature=temperature, passes=200
    )
    weights = np.bincount(table.langs[table.groups < IMAGES]) ** (1 / temperature)
    counts = np.zeros(len(PER_CELL))
    for batch in sampler.epoch(5, 0):
        chosen = dict(list(cells(table, batch)))
        assert len(cells(table, batch)) == IMAGES  # one language of each picture
        for group, lang in chosen.items():
            counts[lang] += group % 5 != 0
    expected = weights[:3] / weights[:3].sum()  # pictures without language 3
    np.testing.assert_allclose(counts[:3] / counts.sum(), expected, atol=0.015)
    assert counts[3] == 0


def test_sentences_alone_do_not_count_for_the_weight_of_a_language() -> None:
    """30 captions in language 0, 10 in 1; alone, 5000 sentences in 1 and some in 2, which has no pictures."""
    groups = np.concatenate([np.repeat(np.arange(10), 4), np.repeat(np.arange(10, 20), 510)])
    langs = np.concatenate([np.tile([0, 0, 0, 1], 10), np.tile(np.repeat([1, 2], [500, 10]), 10)])
    table = make_table(groups, langs, np.full(len(groups), 5), images=10)
    sampler = ImageSampler(captions=table, batch_size=10, languages=1, passes=200, text_only=1.0)
    shown, alone = Counter[int](), Counter[int]()
    for batch in sampler.epoch(0, 0):
        for group, lang in cells(table, batch):
            (shown if group < 10 else alone)[lang] += 1
    assert shown[0] / shown.total() == pytest.approx(30 / 40, abs=0.03)  # two standard deviations are 0.02
    assert alone[1] / alone.total() == pytest.approx(10 / 11, abs=0.03)


def test_so_many_different_languages_are_drawn_as_a_picture_has() -> None:
    table = image_table()
    for languages in (2, 4, 9):
        sampler = ImageSampler(captions=table, batch_size=16, languages=languages)
        for batch in sampler.epoch(0, 0):
            found = Counter(group for group, _ in cells(table, batch))
            assert all(count == min(languages, 4 if group % 5 == 0 else 3) for group, count in found.items())


@pytest.mark.parametrize("languages", [1, 2, 3])
def test_languages_drawn_together_are_the_same_for_the_whole_batch(languages: int) -> None:
    table = image_table()
    sampler = ImageSampler(
        captions=table, batch_size=16, languages=languages, together=True, temperature=4.0, passes=40
    )
    there = set(zip(table.groups.tolist(), table.langs.tolist(), strict=True))
    met: Counter[frozenset[int]] = Counter()
    for batch in sampler.epoch(0, 0):
        drawn = set(table.langs[batch].tolist())
        assert len(drawn) == languages
        pictures = set(table.groups[batch].tolist())
        # Every picture of the batch has all captions it can have in them.
        wanted = {(group, lang) for group in pictures for lang in drawn if (group, lang) in there}
        assert set(cells(table, batch)) == wanted
        if drawn != {3}:
            assert len(pictures) == 16
        met[frozenset(drawn)] += 1
    assert len(met) == {1: 4, 2: 6, 3: 4}[languages]  # all choices of so many of four languages
    if languages == 1:
        weights = np.bincount(table.langs[table.groups < IMAGES]) ** 0.25
        shares = np.array([met[frozenset([lang])] for lang in range(4)]) / met.total()
        np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.12)


def sparse_table() -> SentenceTable:
    """Two pictures in each of ten languages of its own, and sentences alone in an eleventh and in all of them."""
    shown = [(group, group // 2) for group in range(20)]
    alone = [(20 + lang, lang) for lang in range(11)] + [(31, 10)] * 500
    rows = np.asarray(shown + alone, dtype=np.int64)
    return make_table(rows[:, 0].copy(), rows[:, 1].copy(), np.full(len(rows), 5), 20)


def test_a_batch_drawn_together_is_never_without_pictures() -> None:
    table = sparse_table()
    for text_only in (0.0, 1.0):
        sampler = ImageSampler(
            captions=table, batch_size=3, languages=1, together=True, passes=30, text_only=text_only
        )
        for batch in sampler.epoch(0, 0):
            (lang,) = set(table.langs[batch].tolist())
            shown = {int(group) for group in table.groups[batch] if group < 20}
            assert shown and all(group // 2 == lang for group in shown)
    alone = ImageSampler(captions=table, batch_size=3, languages=1, passes=30)
    assert max(len(set(table.langs[batch].tolist())) for batch in alone.epoch(0, 0)) > 1


def test_sentences_alone_join_in_the_asked_share_and_never_as_pictures() -> None:
    table = image_table()
    sampler = ImageSampler(captions=table, batch_size=20, text_only=0.5)
    pictures: Counter[int] = Counter()
    for batch in sampler.epoch(0, 0):
        groups = set(table.groups[batch].tolist())
        assert len({group for group in groups if group < IMAGES}) == 20
        assert len({group for group in groups if group >= IMAGES}) == 10
        pictures.update(group for group in groups if group < IMAGES)
    assert set(pictures) == set(range(IMAGES))
    crowded = ImageSampler(captions=table, batch_size=50, text_only=1.0)  # more than there are
    (batch,) = crowded.epoch(0, 0)
    assert set(table.groups[batch].tolist()) == set(range(IMAGES + TEXTS))
    without = ImageSampler(captions=table, batch_size=20)
    assert max(table.groups[np.concatenate(without.epoch(0, 0))]) < IMAGES


def test_batches_of_pictures_depend_on_seed_and_epoch_alone() -> None:
    sampler = ImageSampler(
        captions=image_table(), batch_size=16, languages=2, temperature=2.0, passes=2, text_only=0.3
    )

    def order(seed: int, epoch: int) -> list[int]:
        return [int(row) for batch in sampler.epoch(seed, epoch) for row in batch]

    first = order(0, 0)
    assert order(1, 0) != first
    assert order(0, 1) != first
    assert order(0, 0) == first


@pytest.mark.parametrize(
    "options", [{"languages": -1}, {"text_only": 1.5}, {"text_only": -0.1}, {"passes": 0}, {"temperature": 0}]
)
def test_wrong_options_are_found_in_the_recipe(options: dict[str, float]) -> None:
    values = {"sampling": {"name": "images", **options}}
    problems = part_problems("sampling", values, SAMPLERS, provided=("captions", "batch_size"))
    assert len(problems) == 1
    assert next(iter(options)) in problems[0]
