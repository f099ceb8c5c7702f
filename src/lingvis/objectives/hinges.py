"""Sums of hinges between the positives and the negatives of a row, in memory linear in both."""

from __future__ import annotations

import torch
from torch import Tensor


def hinge_sums(scores: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """For each row the sum over its positives p and negatives n of [margin + n - p]+.

    scores [..., R, C], positives bool [..., R, C], negatives [..., R, K] with minus infinity for absent ones ->
    [..., R].

    A pair counts when n + margin > p, so the sum is: every raised negative times the number of positives below
    it, minus every positive times the number of raised negatives above it. The numbers come from
    sorted rows: the [..., R, C, K] differences are never built, and nothing waits for the device. They are constant
    between the kinks of the hinges, so the gradient is exact without passing through them.
    """
    raised = negatives + margin
    with torch.no_grad():
        sorted_positives = scores.masked_fill(~positives, torch.inf).sort(dim=-1).values
        below = torch.searchsorted(sorted_positives, raised)
        above = raised.shape[-1] - torch.searchsorted(raised.sort(dim=-1).values, scores, right=True)
    gains = torch.where(below > 0, raised, 0.0) * below
    costs = torch.where(positives, scores, 0.0) * above
    return gains.sum(dim=-1) - costs.sum(dim=-1)
