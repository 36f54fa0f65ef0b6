"""From entries to a decision: which submissions count, the board they make, how sure it is, and its receipt.

    Entry(team, table, moment, role, chosen, void) … ──▶ Contest(challenge, entries, run_times)
                                                              │ count: quota, void, last | best | chosen | all | ladder
                                                              │ rank: the rule of the board, on the tables that count
                                                              │ bootstrap: intervals, rank sets, P(first), P(best)
                                                              ▼
                                                         Decision(board, counted, uncertainty, receipt)

The command line, Python, the site, reports and archives make boards here and nowhere else.
"""

from isocenter.contest._contest import Contest, rank, score_alone
from isocenter.contest._counting import Counted
from isocenter.contest._decision import Decision
from isocenter.contest._entry import Entry, label_table, make_entries, read_tables
from isocenter.contest._guard import RuleFailed, describe_rule, guard_rule
from isocenter.contest._leading import find_bonus_leaders, find_leaders
from isocenter.contest._replay import replay

__all__ = [
    "Contest",
    "Counted",
    "Decision",
    "Entry",
    "RuleFailed",
    "describe_rule",
    "find_bonus_leaders",
    "find_leaders",
    "guard_rule",
    "label_table",
    "make_entries",
    "rank",
    "read_tables",
    "replay",
    "score_alone",
]
