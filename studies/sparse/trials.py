"""Forms of A3VSE on val: what the paper leaves open, one by one and together, to choose the form of the grid.

python -m studies sparse-trials DATASET --at-once 12 pseudo.detections=joined

With 10 and 20 % of the images, five captions each, one seed; test is not touched. Baselines that were not selected yet
(dpc, dan) join. A stopped command resumes.
"""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.cli.output import print_json, print_table
from lingvis.pseudo.captions import LABEL_LANGUAGE
from studies.arguments import add_grid, add_out, make_parser
from studies.parallel import raise_failed
from studies.sparse.forms import FORMS
from studies.sparse.grid import check_grid, measure_grid
from studies.sparse.report import trial_table

TRIALS = (*FORMS, "dpc", "dan")
CAPTIONS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, print."""
    parser = make_parser("sparse-trials", __doc__)
    add_grid(parser, "runs/sparse-trials")
    add_out(parser, "results/sparse/trials")
    parser.set_defaults(seeds=[0])
    parser.add_argument("--images", type=float, nargs="+", default=[0.1, 0.2], help="shares of the images")
    parser.add_argument(
        "--forms", nargs="+", default=list(TRIALS), help=f"some of {', '.join(TRIALS)}; all by default"
    )
    args = parser.parse_intermixed_args(arguments)
    check_grid(TRIALS, args.images, [CAPTIONS], args.seeds, args.forms, LABEL_LANGUAGE, args.at_once)
    records, failed = measure_grid(
        args.dataset,
        args.out,
        grid=[(form, share, CAPTIONS) for share in args.images for form in dict.fromkeys(args.forms)],
        seeds=args.seeds,
        split="val",
        lang=LABEL_LANGUAGE,
        tags="global",
        overrides=args.overrides,
        work=args.work,
        device=args.device,
        at_once=args.at_once,
    )
    if args.json:
        print_json(records)
    else:
        print_table("mR on val (best epoch)", *trial_table(records))
    raise_failed(failed)


if __name__ == "__main__":
    main()
