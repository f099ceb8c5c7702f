"""The padded GRU equals torch's packed GRU, whatever the padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lingvis.errors import UserError
from lingvis.layers import recurrent
from lingvis.layers.recurrent import MaskedGRU, reversal
from lingvis.text.encoders import GRU
from lingvis.types import Stages, Tokens

LENGTHS = [5, 1, 7, 3]


def batch(*, padding: int, dim: int = 6) -> tuple[Tensor, Tensor]:
    """Ragged float64 sequences with `padding` positions of noise after the longest."""
    generator = torch.Generator().manual_seed(3)
    valid = torch.randn(len(LENGTHS), max(LENGTHS), dim, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(LENGTHS), padding, dim, generator=generator, dtype=torch.float64) * 100
    values = torch.cat([valid, noise], dim=1)
    mask = torch.arange(values.shape[1]) < torch.tensor(LENGTHS).unsqueeze(1)
    return values, mask


def stages(*ends: int) -> Stages:
    """The number of sequences that have a position at all, for each end."""
    begins = (0, *ends[:-1])
    counts = [sum(length > begin for length in LENGTHS) for begin in begins]
    return tuple(zip(ends, counts, strict=True))


def packed_twin(layer: MaskedGRU, *, bidirectional: bool) -> nn.GRU:
    """torch's own GRU with the same weights."""
    twin = nn.GRU(6, layer.ahead.hidden_size, batch_first=True, bidirectional=bidirectional).double()
    state = dict(layer.ahead.state_dict())
    if layer.back is not None:
        state |= {f"{name}_reverse": weight for name, weight in layer.back.state_dict().items()}
    twin.load_state_dict(state)
    return twin


@pytest.fixture(params=["padded", "packed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to compute: that of a GPU, and that of training on a CPU."""
    monkeypatch.setattr(recurrent, "leaves_out", lambda values: request.param == "packed")
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("padding", [0, 4])
@pytest.mark.parametrize("ends", [(), (3, 6), (1, 2, 3)])
def test_equals_packed_gru(bidirectional: bool, padding: int, ends: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = MaskedGRU(input_dim=6, hidden=4, bidirectional=bidirectional).double()
    twin = packed_twin(layer, bidirectional=bidirectional)
    values, mask = batch(padding=padding)
    values.requires_grad_()
    weight = torch.randn(len(LENGTHS), values.shape[1], 4, dtype=torch.float64)

    ours = layer(values, mask, stages(*ends, values.shape[1]) if ends else ())
    packed = pack_padded_sequence(values, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    theirs, _ = pad_packed_sequence(twin(packed)[0], batch_first=True, total_length=values.shape[1])
    if bidirectional:
        theirs = (theirs[..., :4] + theirs[..., 4:]) / 2
    torch.testing.assert_close(ours, theirs)
    assert ours[~mask].abs().sum() == 0

    our_grads = torch.autograd.grad((ours * weight).sum(), [values, *layer.parameters()])
    their_grads = torch.autograd.grad((theirs * weight).sum(), [values, *twin.parameters()])
    assert len(our_grads) == len(their_grads) == (9 if bidirectional else 5)
    for our_grad, their_grad in zip(our_grads, their_grads, strict=True):
        torch.testing.assert_close(our_grad, their_grad)


def test_stages_leave_out_the_positions_of_short_sequences() -> None:
    layer = MaskedGRU(input_dim=6, hidden=4, bidirectional=True).double()
    values, mask = batch(padding=4)
    computed = {"ahead": 0, "back": 0}
    for name in computed:

        def count(module: nn.Module, given: tuple[Tensor, ...], name: str = name) -> None:
            computed[name] += given[0].shape[0] * given[0].shape[1]

        getattr(layer, name).register_forward_pre_hook(count)
    with torch.no_grad():  # as on a GPU
        layer(values, mask, ((3, 4), (6, 2), (11, 1)))
    assert computed == {"ahead": 4 * 3 + 2 * 3 + 1 * 5, "back": 4 * 3 + 2 * 3 + 1 * 5}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("padding", [0, 4])
def test_directions_side_by_side_are_those_of_a_packed_gru(padding: int) -> None:
    torch.manual_seed(0)
    layer = MaskedGRU(input_dim=6, hidden=8, bidirectional=True, concatenate=True).double()
    twin = packed_twin(layer, bidirectional=True)
    values, mask = batch(padding=padding)
    values.requires_grad_()
    packed = pack_padded_sequence(values, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    theirs, _ = pad_packed_sequence(twin(packed)[0], batch_first=True, total_length=values.shape[1])
    ours = layer(values, mask)
    assert ours.shape[-1] == 8
    torch.testing.assert_close(ours, theirs)
    weight = torch.randn(ours.shape, dtype=torch.float64)
    our_grads = torch.autograd.grad((ours * weight).sum(), [values, *layer.parameters()])
    their_grads = torch.autograd.grad((theirs * weight).sum(), [values, *twin.parameters()])
    for our_grad, their_grad in zip(our_grads, their_grads, strict=True):
        torch.testing.assert_close(our_grad, their_grad)


def test_the_part_of_a_recipe_drops_word_vectors_in_training_only() -> None:
    torch.manual_seed(0)
    part = GRU(input_dim=6, dim=8, bidirectional=True, concatenate=True, dropout=0.5).double()
    values, mask = batch(padding=2)
    runs = ((1, 3), (0, 1))
    torch.manual_seed(5)
    got = part(Tokens(values, mask, runs))
    torch.manual_seed(5)
    torch.testing.assert_close(got.values, part.gru(nn.functional.dropout(values, 0.5), mask))
    assert got.runs == runs
    assert got.mask is mask
    part.eval()
    torch.testing.assert_close(part(Tokens(values, mask)).values, part.gru(values, mask))


def test_an_odd_size_has_no_two_halves() -> None:
    with pytest.raises(UserError, match="need an even size, got 5"):
        MaskedGRU(input_dim=6, hidden=5, bidirectional=True, concatenate=True)
    one_way = MaskedGRU(input_dim=6, hidden=5, bidirectional=False, concatenate=True)
    assert one_way.ahead.hidden_size == 5  # one direction has nothing to stand beside


@pytest.mark.usefixtures("way")
def test_padding_amount_does_not_matter() -> None:
    torch.manual_seed(0)
    layer = MaskedGRU(input_dim=6, hidden=4, bidirectional=True).double()
    tight = layer(*batch(padding=0))
    wide = layer(*batch(padding=9))
    torch.testing.assert_close(wide[:, : max(LENGTHS)], tight)


def test_reversal_turns_each_sequence_within_its_length() -> None:
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    assert reversal(mask).tolist() == [2, 1, 0, 3, 4, 5, 6, 7]
