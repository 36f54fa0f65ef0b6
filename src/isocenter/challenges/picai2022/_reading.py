"""The reader study of PI-CAI as its design document has it.

Four hundred cases of the test cohort and some sixty readers in four blocks, so that nobody reads more than a hundred.
Every case is read twice in a row: as biparametric MRI, the way algorithms see it, and then, beginning with the same
answers, with the contrast-enhanced scan. The document says three to five months and gives no dates; those of the open
development phase are taken, which lasts five.
"""

from __future__ import annotations

from typing import Any

_GUIDE = """\
## What you read

Prostate MRI of men who may have cancer. A *clinically significant cancer* is one of ISUP grade 2 or more. You see what
was known of the patient: age, PSA, PSA density, and the volume of the prostate.

## What you do in every case

1. **Biparametric MRI.** Look at the T2-weighted scan, the ADC map and the scan with a high b value. Set a mark inside
   each lesion that you suspect, up to four, and give each its PI-RADS v2.1: 3, 4 or 5. What you would call PI-RADS 1
   or 2 is not marked. Then say how likely it is that this patient has a significant cancer: 0 is surely not, 100 is
   surely. Hand it in. You cannot come back to it.
2. **Multiparametric MRI.** Now the contrast-enhanced scan is there, too. You begin with your own answers; change
   them, or hand them in as they are.

Cases come one after the other, and none can be opened again. You may stop at any time: what you have begun is kept.

## What you do not get to hear

Whether you were right, what others said, and what any algorithm found. Your reads are kept under a pseudonym.
"""

READING: dict[str, Any] = {
    "reading": {
        "title": "PI-CAI: Reader Study",
        "opens": "2022-05-20T18:00:00+02:00",
        "closes": "2022-10-20T18:00:00+02:00",
        "guide": _GUIDE,
        "practice": 6,
        "most_marks": 4,
        "likelihood_of": "a clinically significant cancer",
        "facts": ["age", "psa", "psad", "volume"],
        "blocks": 4,
        "cases_by": ["positive", "centre"],
        "readers_by": ["expert", "years"],
    },
    "stages": [
        {"name": "bpmri", "title": "Biparametric MRI", "images": ["t2w", "adc", "hbv"]},
        {
            "name": "mpmri",
            "title": "Multiparametric MRI",
            "images": ["t2w", "adc", "hbv", "dce"],
            "copies": True,
        },
    ],
    "readers": [
        {
            "name": "centre",
            "label": "Your centre",
            "kind": "text",
            "required": True,
        },
        {"name": "country", "label": "Country", "kind": "country", "required": True},
        {
            "name": "years",
            "label": "Years of reading prostate MRI",
            "kind": "choice",
            "choices": ["Fewer than 5", "5 to 10", "More than 10"],
            "required": True,
        },
        {
            "name": "expert",
            "label": "Are you an expert by the ESUR/ESUI consensus of 2020?",
            "kind": "yes-no",
            "required": True,
            "help": "As its statements on experience define it (de Rooij et al., Eur Radiol 30 (2020) 5404).",
        },
        {
            "name": "reports",
            "label": "Do you read and report prostate MRI in clinical practice, by PI-RADS v2.1?",
            "kind": "yes-no",
            "required": True,
        },
    ],
}
