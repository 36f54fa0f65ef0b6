"""Reader studies: cases dealt to readers, read one after the other, under pseudonyms.

::

    cases (zip) ─┐
                 ├─▶ draw ──▶ Assignment ──▶ a turn: one case, one stage ──▶ draft ──▶ handed in, locked ──▶ export
    readers join ┘                             └─ scans, as long as it is the turn of that case and stage

Whose turn it is says `turns.turn_of`, and nothing else: pages, scans and answers ask there.
"""
